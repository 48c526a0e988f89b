// oncectl release: gives the key back without a result.
#include <utility>

#include "client/cli/command.h"
#include "client/cli/text.h"

namespace onced::cli {
namespace {

namespace v1 = ::idempotency::v1;

absl::StatusOr<Answer> Run(Context& context) {
  v1::ReleaseRequest request;
  request.set_namespace_(context.args.RequiredUtf8("namespace"));
  request.set_key(context.args.RequiredUtf8("key"));
  request.set_token(TokenOf(context));
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;

  absl::StatusOr<v1::ReleaseResponse> response = context.client.Release(request, context.Options());
  if (!response.ok()) return response.status();
  Lines lines;
  lines.Add("released", response->released() ? "true" : "false");
  return Answer{.response = std::make_shared<v1::ReleaseResponse>(*response), .text = lines.Text()};
}

}  // namespace

Command ReleaseCommand() {
  std::vector<Flag> flags = KeyFlags();
  for (Flag& flag : TokenFlags()) flags.push_back(std::move(flag));
  return {.name = "release",
          .summary = "Give the key back: the work was not done.",
          .flags = flags,
          .more = "A key that is absent already is a success too, with `released: false`.\n",
          .run = Run};
}

}  // namespace onced::cli
