#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/bytes.h"
#include "server/identity/token_table.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

constexpr char kFile[] = "tokens";
constexpr std::size_t kErrorsMax = 20;

// Lines of the file, and none of what stands in it: that may be a token.
void CheckRefusal(const absl::Status& refusal) {
  const std::vector<std::string> lines = absl::StrSplit(refusal.message(), '\n');
  Demand(lines.size() <= kErrorsMax, "too many errors");
  for (const std::string& line : lines) {
    Demand(absl::StartsWith(line, absl::StrCat(kFile, ":")), "which file?");
    Demand(line.size() <= 200, "quotes the file");
    Demand(std::all_of(line.begin(), line.end(),
                       [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); }),
           "not plain text");
  }
}

}  // namespace

void TokenFile(absl::string_view bytes) {
  const std::string token(32, 't');
  const auto table = TokenTable::Parse(bytes, kFile);
  if (!table.ok()) {
    CheckRefusal(table.status());
  } else {
    Demand(table->size() > 0 && table->size() <= TokenTable::kTokensMax, "how many?");
    Demand(
        table->size() <= 1 + static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')),
        "more tokens than lines");
    // Who presents what the file says has nothing: there are digests in it.
    for (const absl::string_view word : absl::StrSplit(bytes, absl::ByAnyChar(" \t\n"))) {
      Demand(table->Find(word) == nullptr || absl::StrContains(bytes, ToHex(Sha256(word))),
             "a token that isn't there");
    }
  }
  // With one more line, one more token, unless something else is wrong.
  const auto longer = TokenTable::Parse(
      absl::StrCat(bytes, "\nfuzzed\tsha256:", ToHex(Sha256(token)), " # the last"), kFile);
  if (longer.ok()) {
    Demand(longer->Find(token) != nullptr, "its token isn't there");
    Demand(longer->Find(token)->identity == "token:fuzzed", "it is another's");
    Demand(!table.ok() || longer->size() == table->size() + 1, "another number");
  } else {
    CheckRefusal(longer.status());
    Demand(!table.ok() || table->Find(token) != nullptr || table->size() == TokenTable::kTokensMax,
           "one more line broke it");
  }
}

}  // namespace onced::fuzz
