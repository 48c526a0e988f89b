// oncectl inspect: shows what is known of a key.
#include <utility>

#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/failure.h"

namespace onced::cli {
namespace {

std::string TextOf(const v1::InspectResponse& response) {
  Lines lines;
  Describe(response.record(), lines);
  if (response.has_server_time()) lines.Add("server_time", TimeText(response.server_time()));
  return lines.Text();
}

absl::StatusOr<Answer> Run(Context& context) {
  v1::InspectRequest request;
  request.set_namespace_(context.args.RequiredUtf8("namespace"));
  request.set_key(context.args.RequiredUtf8("key"));
  request.set_include_result(context.args.Has("include-result") || context.args.Has("output"));
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;

  absl::StatusOr<v1::InspectResponse> response = context.client.Inspect(request, context.Options());
  if (!response.ok()) return response.status();
  Answer answer{.text = TextOf(*response)};
  if (context.args.Has("output")) {
    if (!response->record().has_result()) return OutputError("the key has no stored result");
    absl::StatusOr<std::string> body = StoredBody(response->record().result());
    if (!body.ok()) return body.status();
    answer.body = *std::move(body);
  }
  answer.response = std::make_shared<v1::InspectResponse>(*std::move(response));
  return answer;
}

}  // namespace

Command InspectCommand() {
  std::vector<Flag> flags = KeyFlags();
  flags.insert(flags.end(), {{"include-result", Flag::kSwitch, "", "Show the stored result too."},
                             OutputFlag()});
  return {.name = "inspect",
          .summary = "Show what is known of a key. Changes nothing.",
          .flags = flags,
          .more =
              "An absent key is an answer: exit code 0. --output asks for the result, and is an\n"
              "error (exit code 1) where there is none.\n",
          .run = Run};
}

}  // namespace onced::cli
