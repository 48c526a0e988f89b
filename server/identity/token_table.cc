#include "server/identity/token_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/bytes.h"
#include "server/base/names.h"

namespace onced {
namespace {

constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kDigestDigits = 64;
// More would be of no help.
constexpr std::size_t kErrorsMax = 20;

using Parsed = absl::StatusOr<std::pair<std::string, TokenTable::Entry>>;

// No message quotes the line: whoever put a token there by mistake finds it in no log.
Parsed ParseLine(absl::string_view line) {
  const auto wrong = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() != 2 && words.size() != 4) {
    return wrong("must be NAME sha256:HEX, or NAME sha256:HEX not_after TIME");
  }
  if (!IsName(words[0], kNameBytesMax)) {
    return wrong("the name must be 1 to 64 of [A-Za-z0-9._-], first a letter or digit");
  }
  absl::string_view digest = words[1];
  const bool digits = absl::ConsumePrefix(&digest, "sha256:") && digest.size() == kDigestDigits &&
                      std::all_of(digest.begin(), digest.end(), [](char c) {
                        return absl::ascii_isxdigit(static_cast<unsigned char>(c));
                      });
  if (!digits) return wrong("the digest must be sha256: and 64 hexadecimal digits");
  TokenTable::Entry entry{.identity = absl::StrCat("token:", words[0])};
  if (words.size() == 4) {
    std::string why;
    if (words[2] != "not_after") return wrong("the third word must be not_after");
    const bool time = absl::ParseTime(absl::RFC3339_full, words[3], &entry.not_after, &why) &&
                      absl::ascii_isdigit(static_cast<unsigned char>(words[3][0]));
    if (!time) {  // It would take "infinite-future", too.
      return wrong("not_after must be a time such as 2027-01-31T12:00:00Z");
    }
  }
  return std::make_pair(absl::HexStringToBytes(digest), std::move(entry));
}

}  // namespace

absl::StatusOr<TokenTable> TokenTable::Parse(absl::string_view text, const std::string& file) {
  TokenTable table;
  std::vector<std::string> errors;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto add_error = [&](absl::string_view what) {
      errors.push_back(absl::StrCat(file, ":", number, ": ", what));
    };
    if (Parsed parsed = ParseLine(line); !parsed.ok()) {
      add_error(parsed.status().message());
    } else if (table.entries_.size() == kTokensMax) {
      add_error(absl::StrCat("is one more than ", kTokensMax, " tokens"));
      break;
    } else if (!table.entries_.insert(*std::move(parsed)).second) {
      add_error("has the digest of an earlier line");
    }
    if (errors.size() == kErrorsMax) break;
  }
  if (!errors.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  // Most likely it is being written just now.
  if (table.entries_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": has no token; to revoke all, leave one whose not_after has passed"));
  }
  return table;
}

const TokenTable::Entry* TokenTable::Find(absl::string_view token) const {
  if (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax) return nullptr;
  const auto found = entries_.find(Sha256(token));
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace onced
