#include "server/run_restore.h"

#include <cstdio>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/believed_clock.h"
#include "server/base/random.h"
#include "server/config/restore_command.h"
#include "server/storage/rocksdb/restore.h"

namespace onced {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitRefused = 3;
constexpr int kExitDamaged = 4;
// As oncectl shows it.
constexpr char kRfc3339[] = "%E4Y-%m-%d%ET%H:%M:%E6SZ";

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
      return kExitRefused;
    case absl::StatusCode::kDataLoss:
      return kExitDamaged;
    default:  // Whatever else it is, it may be tried again.
      return kExitFailed;
  }
}

// A full disk shows at the flush.
int Print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? kExitFailed : 0;
}

int Fail(const absl::Status& status, int exit_code) {
  std::fprintf(stderr, "onced restore: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

}  // namespace

int RunRestore(const std::vector<std::string>& args, const Machine& machine) {
  const auto command = ParseRestore(args);
  if (!command.ok()) return Fail(command.status(), kExitUsage);
  if (std::holds_alternative<ShowHelp>(*command)) return Print(RestoreHelpText());
  const auto& wanted = std::get<RestoreCommand>(*command);
  SystemRandom random;
  const SystemTimeSource system_time;
  const TimeSource& time = machine.time_source != nullptr ? *machine.time_source : system_time;
  const auto restored = RestoreBackup({.from = wanted.from,
                                       .backup_id = wanted.backup_id,
                                       .data_dir = wanted.data_dir,
                                       .fence_floor = wanted.fence_floor,
                                       .wall_now = time.Read().wall,
                                       .random = random,
                                       .env = machine.env});
  if (!restored.ok()) return Fail(restored.status(), ExitCodeOf(restored.status()));
  const std::string told = absl::StrCat(
      "restored:    backup ", restored->backup_id, " of ", wanted.from, " to ", wanted.data_dir,
      "\ncut_time:    ", absl::FormatTime(kRfc3339, restored->cut_time, absl::UTCTimeZone()),
      "\nepoch:       ", absl::Hex(restored->old_epoch.value, absl::kZeroPad8), " -> ",
      absl::Hex(restored->new_epoch.value, absl::kZeroPad8), "\nkeys:        ", restored->keys,
      " (estimate)\nfence_floor: ", restored->fence_floor.value, "\n");
  return Print(told);
}

}  // namespace onced
