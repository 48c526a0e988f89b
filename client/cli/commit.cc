// oncectl commit: stores the result of the work.
#include <utility>

#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/result_flags.h"
#include "client/cli/text.h"
#include "client/cpp/duration.h"

namespace onced::cli {
namespace {

v1::CommitRequest RequestWithoutBody(Context& context) {
  Args& args = context.args;
  v1::CommitRequest request;
  request.set_namespace_(args.RequiredUtf8("namespace"));
  request.set_key(args.RequiredUtf8("key"));
  request.set_token(TokenOf(context));
  TakeResultWithoutBody(args, *request.mutable_result());
  if (const auto ttl = args.Duration("retention-ttl"); ttl.has_value()) {
    *request.mutable_retention_ttl() = client::ToProto(*ttl);
  }
  return request;
}

std::string TextOf(const v1::CommitResponse& response) {
  Lines lines;
  lines.Add("commit_time", TimeText(response.commit_time()));
  lines.Add("expire_time", TimeText(response.expire_time()));
  if (response.already_committed()) lines.Add("already_committed", "true");
  if (response.late()) lines.Add("late", "true");
  if (response.body_omitted()) lines.Add("body_omitted", "true");
  if (response.headers_omitted()) lines.Add("headers_omitted", "true");
  return lines.Text();
}

absl::StatusOr<Answer> Run(Context& context) {
  v1::CommitRequest request = RequestWithoutBody(context);
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;
  const auto notes = TakeBody(context, *request.mutable_result());
  if (!notes.ok()) return notes.status();

  absl::StatusOr<v1::CommitResponse> response = context.client.Commit(request, context.Options());
  if (!response.ok()) return response.status();
  return Answer{.response = std::make_shared<v1::CommitResponse>(*response),
                .text = TextOf(*response),
                .notes = *notes};
}

}  // namespace

Command CommitCommand() {
  std::vector<Flag> flags = KeyFlags();
  for (Flag& flag : TokenFlags()) flags.push_back(std::move(flag));
  for (Flag& flag : ResultFlags()) flags.push_back(std::move(flag));
  flags.push_back(RetentionFlag());
  return {.name = "commit",
          .summary = "Store the result of the work, to be replayed from now on.",
          .flags = flags,
          .more = "Of a body over 3 MiB only size and SHA-256 are sent, as with --body-omitted.\n",
          .run = Run};
}

}  // namespace onced::cli
