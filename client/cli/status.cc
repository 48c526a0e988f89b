// oncectl status: how the server is.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/text.h"
#include "client/cpp/duration.h"

namespace onced::cli {
namespace {

namespace admin_v1 = ::idempotency::admin::v1;

const char* YesOrNo(bool value) { return value ? "yes" : "no"; }

void Describe(const admin_v1::ClockStatus& clock, Lines& lines) {
  lines.Add("clock.time", TimeText(clock.time()));
  lines.Add("clock.step", absl::FormatDuration(client::FromProto(clock.step())));
  lines.Add("clock.mark", TimeText(clock.mark()));
}

void Describe(const admin_v1::StoreStatus& store, Lines& lines) {
  lines.Add("store.failed", YesOrNo(store.failed()));
  lines.Add("store.low_on_space", YesOrNo(store.low_on_space()));
  lines.Add("store.free_bytes", absl::StrCat(store.free_bytes()));
  lines.Add("store.key_count", absl::StrCat(store.key_count()));
}

std::string TextOf(const admin_v1::StatusResponse& status) {
  Lines lines;
  lines.Add("version", Printable(status.version()));
  lines.Add("start_time", TimeText(status.start_time()));
  lines.Add("uptime", absl::FormatDuration(client::FromProto(status.uptime())));
  lines.Add("draining", YesOrNo(status.draining()));
  lines.Add("epoch", absl::StrCat(status.epoch()));
  lines.Add("shard_count", absl::StrCat(status.shard_count()));
  lines.Add("queue_depths", absl::StrJoin(status.executors(), " ", [](auto* out, const auto& one) {
              absl::StrAppend(out, one.queue_depth());
            }));
  lines.Add("waiters", absl::StrCat(status.waiters()));
  lines.Add("sessions", absl::StrCat(status.sessions()));
  Describe(status.clock(), lines);
  Describe(status.store(), lines);
  if (status.has_last_backup()) {
    lines.Add("last_backup.backup_id", absl::StrCat(status.last_backup().backup_id()));
    lines.Add("last_backup.cut_time", TimeText(status.last_backup().cut_time()));
    lines.Add("last_backup.size_bytes", absl::StrCat(status.last_backup().size_bytes()));
  }
  if (status.has_last_sweep()) {
    lines.Add("last_sweep.end_time", TimeText(status.last_sweep().end_time()));
    lines.Add("last_sweep.useless_bytes", absl::StrCat(status.last_sweep().useless_bytes()));
  }
  return lines.Text();
}

absl::StatusOr<Answer> Run(Context& context) {
  const std::string server = AdminServerOf(context);
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;
  const absl::StatusOr<admin_v1::StatusResponse> response =
      context.connect_admin(server).Status({}, context.Options());
  if (!response.ok()) return response.status();
  return Answer{.response = std::make_shared<admin_v1::StatusResponse>(*response),
                .text = TextOf(*response)};
}

}  // namespace

Command StatusCommand() {
  return {.name = "status",
          .summary = "Show how the server is: clock, store, queues, backup.",
          .flags = {AdminServerFlag()},
          .more = "",
          .run = Run};
}

}  // namespace onced::cli
