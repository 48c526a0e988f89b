// oncectl resolve: settles a reservation without its token.
#include <limits>
#include <utility>

#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/result_flags.h"
#include "client/cli/text.h"
#include "client/cpp/duration.h"

namespace onced::cli {
namespace {

namespace admin_v1 = ::idempotency::admin::v1;

void CheckOnlyForCommit(Args& args) {
  std::vector<Flag> flags = ResultFlags();
  flags.push_back(RetentionFlag());
  for (const Flag& flag : flags) {
    if (args.Has(flag.name)) args.AddProblem("--" + flag.name + " is for --commit");
  }
}

admin_v1::ResolveRequest RequestWithoutBody(Args& args) {
  admin_v1::ResolveRequest request;
  request.set_namespace_(args.RequiredUtf8("namespace"));
  request.set_key(args.RequiredUtf8("key"));
  args.Required("fence");
  request.set_fence(args.Integer("fence", 1, std::numeric_limits<std::int64_t>::max()).value_or(0));
  request.set_force(args.Has("force"));
  request.set_comment(args.Utf8("comment"));
  args.AtMostOne({"commit", "release"});
  if (args.Has("commit")) {
    TakeResultWithoutBody(args, *request.mutable_commit()->mutable_result());
    if (const auto ttl = args.Duration("retention-ttl"); ttl.has_value()) {
      *request.mutable_commit()->mutable_retention_ttl() = client::ToProto(*ttl);
    }
  } else {
    CheckOnlyForCommit(args);
    request.mutable_release();
    if (!args.Has("release")) args.AddProblem("one of --commit and --release is missing");
  }
  return request;
}

std::string TextOf(const admin_v1::ResolveResponse& response) {
  Lines lines;
  lines.Add("state", StateText(response.state()));
  if (response.has_commit_time()) lines.Add("commit_time", TimeText(response.commit_time()));
  if (response.has_expire_time()) lines.Add("expire_time", TimeText(response.expire_time()));
  if (response.already_committed()) lines.Add("already_committed", "true");
  if (response.late()) lines.Add("late", "true");
  if (response.body_omitted()) lines.Add("body_omitted", "true");
  if (response.headers_omitted()) lines.Add("headers_omitted", "true");
  return lines.Text();
}

absl::StatusOr<Answer> Run(Context& context) {
  const std::string server = AdminServerOf(context);
  admin_v1::ResolveRequest request = RequestWithoutBody(context.args);
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;
  std::vector<std::string> notes;
  if (request.has_commit()) {
    const auto said = TakeBody(context, *request.mutable_commit()->mutable_result());
    if (!said.ok()) return said.status();
    notes = *said;
  }

  const absl::StatusOr<admin_v1::ResolveResponse> response =
      context.connect_admin(server).Resolve(request, context.Options());
  if (!response.ok()) return response.status();
  return Answer{.response = std::make_shared<admin_v1::ResolveResponse>(*response),
                .text = TextOf(*response),
                .notes = std::move(notes)};
}

}  // namespace

Command ResolveCommand() {
  std::vector<Flag> flags = KeyFlags();
  flags.insert(flags.begin(), AdminServerFlag());
  flags.insert(flags.end(),
               {FenceFlag(),
                {"commit", Flag::kSwitch, "", "The effect has happened: store this result."},
                {"release", Flag::kSwitch, "", "It hasn't, and won't: free the key."},
                {"force", Flag::kSwitch, "",
                 "Also while the lease is running, and the holder may be at work."},
                CommentFlag()});
  for (Flag& flag : ResultFlags()) flags.push_back(std::move(flag));
  flags.push_back(RetentionFlag());
  return {.name = "resolve",
          .summary = "Settle a reservation whose holder is gone.",
          .flags = flags,
          .more =
              "Find out first whether the effect has happened. A release of what has happened\n"
              "makes it happen again.\n",
          .run = Run};
}

}  // namespace onced::cli
