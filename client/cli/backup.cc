// oncectl backup: has the server make a backup.
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/text.h"

namespace onced::cli {
namespace {

namespace admin_v1 = ::idempotency::admin::v1;

// A copy of a large store takes long, and goes on if nobody waits for it.
constexpr absl::Duration kPatience = absl::Hours(1);

absl::StatusOr<Answer> Run(Context& context) {
  const std::string server = AdminServerOf(context);
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;

  client::CallOptions options = context.Options();
  if (!context.args.Has("timeout")) options.deadline = absl::Now() + kPatience;
  const absl::StatusOr<admin_v1::BackupResponse> response =
      context.connect_admin(server).Backup({}, options);
  if (!response.ok()) return response.status();
  Lines lines;
  lines.Add("backup_id", absl::StrCat(response->backup_id()));
  lines.Add("cut_time", TimeText(response->cut_time()));
  lines.Add("size_bytes", absl::StrCat(response->size_bytes()));
  lines.Add("file_count", absl::StrCat(response->file_count()));
  return Answer{.response = std::make_shared<admin_v1::BackupResponse>(*response),
                .text = lines.Text()};
}

}  // namespace

Command BackupCommand() {
  return {.name = "backup",
          .summary = "Have the server make a backup, and verify it.",
          .flags = {AdminServerFlag()},
          .more =
              "Answers once the backup is verified; without --timeout it waits for an hour. A\n"
              "backup that has begun goes on if oncectl ends. Restored by onced restore.\n",
          .run = Run};
}

}  // namespace onced::cli
