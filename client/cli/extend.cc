// oncectl extend: makes the lease longer, and saves a checkpoint.
#include <utility>

#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/failure.h"
#include "client/cpp/duration.h"

namespace onced::cli {
namespace {

// Beyond what a server accepts, so that refusing it is the server's to explain,
// and within what fits into a message.
constexpr std::size_t kCheckpointMax = 1024 * 1024;

v1::ExtendRequest RequestWithoutCheckpoint(Context& context) {
  Args& args = context.args;
  v1::ExtendRequest request;
  request.set_namespace_(args.RequiredUtf8("namespace"));
  request.set_key(args.RequiredUtf8("key"));
  request.set_token(TokenOf(context));
  if (const auto ttl = args.Duration("lease-ttl"); ttl.has_value()) {
    *request.mutable_lease_ttl() = client::ToProto(*ttl);
  }
  args.AtMostOne({"checkpoint", "checkpoint-file"});
  return request;
}

// Without either flag the saved checkpoint stays.
absl::Status SetCheckpoint(Context& context, v1::ExtendRequest& request) {
  if (context.args.Has("checkpoint")) request.set_checkpoint(context.args.Text("checkpoint"));
  if (!context.args.Has("checkpoint-file")) return absl::OkStatus();
  absl::StatusOr<Blob> file =
      context.input.Read(context.args.Text("checkpoint-file"), kCheckpointMax, Beyond::kOfNoUse);
  if (!file.ok()) return file.status();
  if (file->too_large) return UsageError("--checkpoint-file is too large to send");
  request.set_checkpoint(std::move(file->bytes));
  return absl::OkStatus();
}

absl::StatusOr<Answer> Run(Context& context) {
  v1::ExtendRequest request = RequestWithoutCheckpoint(context);
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;
  if (absl::Status unread = SetCheckpoint(context, request); !unread.ok()) return unread;

  absl::StatusOr<v1::ExtendResponse> response = context.client.Extend(request, context.Options());
  if (!response.ok()) return response.status();
  Lines lines;
  lines.Add("lease_expire_time", TimeText(response->lease_expire_time()));
  return Answer{.response = std::make_shared<v1::ExtendResponse>(*response), .text = lines.Text()};
}

}  // namespace

Command ExtendCommand() {
  std::vector<Flag> flags = KeyFlags();
  for (Flag& flag : TokenFlags()) flags.push_back(std::move(flag));
  flags.insert(flags.end(),
               {{"lease-ttl", Flag::kValue, "DURATION",
                 "Counted from now; never ends the lease earlier than it does.\n"
                 "Default: the namespace's, usually 2m."},
                {"checkpoint", Flag::kValue, "TEXT",
                 "Handed to whoever takes over. Replaces the last one; '' removes it."},
                {"checkpoint-file", Flag::kValue, "FILE",
                 "Read the checkpoint from there; - is the standard input."}});
  return {.name = "extend",
          .summary = "Make the lease longer, and save a checkpoint.",
          .flags = flags,
          .more = "",
          .run = Run};
}

}  // namespace onced::cli
