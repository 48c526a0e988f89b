// oncectl token new: makes a bearer token. Asks no server.
#include <google/protobuf/struct.pb.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/text.h"
#include "client/cpp/digest.h"
#include "client/cpp/request_id.h"

namespace onced::cli {
namespace {

constexpr std::size_t kNameBytesMax = 64;

bool IsName(absl::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return false;
  for (const char c : name) {
    const bool letter = absl::ascii_isalnum(static_cast<unsigned char>(c));
    if (!letter && c != '.' && c != '_' && c != '-') return false;
  }
  return absl::ascii_isalnum(static_cast<unsigned char>(name[0]));
}

absl::StatusOr<Answer> Run(Context& context) {
  const std::string identity = context.args.Required("identity");
  if (context.args.Has("identity") && !IsName(identity)) {
    context.args.AddProblem(
        "--identity must be 1 to 64 of [A-Za-z0-9._-], first a letter or digit");
  }
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;
  // 128 random bits each.
  const std::string token = absl::StrCat(client::NewRequestId(), client::NewRequestId());
  const std::string line =
      absl::StrCat(identity, " sha256:", absl::BytesToHexString(client::Sha256(token)));
  Lines lines;
  lines.Add("token", token);
  lines.Add("line", line);
  auto answer = std::make_shared<google::protobuf::Struct>();
  (*answer->mutable_fields())["token"].set_string_value(token);
  (*answer->mutable_fields())["line"].set_string_value(line);
  return Answer{.response = std::move(answer), .text = lines.Text()};
}

}  // namespace

Command TokenNewCommand() {
  return {.name = "token new",
          .summary = "Make a token that says who calls.",
          .flags = {{"identity", Flag::kValue, "NAME",
                     "Who calls with it: token:NAME in the access list. Required."}},
          .more =
              "The token is shown this once: keep it as a secret. The line is for the\n"
              "server's token_file; after it, a time may stand:\n"
              "not_after 2027-01-31T12:00:00Z.\n",
          .asks_server = false,
          .run = Run};
}

}  // namespace onced::cli
