// A store from a backup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/random.h"
#include "server/ledger/token.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace onced {

struct RestoreOptions {
  std::string from;                        // A directory of backups.
  std::optional<std::uint32_t> backup_id;  // nullopt: the newest.
  std::string data_dir;                    // Vacant, or with a restore that did not end.
  std::int64_t fence_floor = 0;            // 0 to limits::kFenceFloorMax.
  absl::Time wall_now;
  Random& random;               // Of the new epoch.
  rocksdb::Env* env = nullptr;  // Of both directories; nullptr: the machine's own.
};

struct RestoreReport {
  std::uint32_t backup_id = 0;
  absl::Time cut_time;  // All that was acknowledged before is there.
  Epoch old_epoch;
  Epoch new_epoch;
  Fence fence_floor;       // Every fence from now on is larger.
  std::uint64_t keys = 0;  // An estimate; expired ones included.
};

// Verifies the backup first, and writes nothing before. What it writes is no
// store until all of it is durable; run again after a crash, it starts anew.
//
// NOT_FOUND if there is no such backup, DATA_LOSS if it is damaged,
// FAILED_PRECONDITION if the data directory isn't vacant, the wall clock is
// behind the backup or a newer version made it, INVALID_ARGUMENT for a fence
// floor out of bounds, UNAVAILABLE for all else. One line that names the
// directory.
absl::StatusOr<RestoreReport> RestoreBackup(const RestoreOptions& options);

}  // namespace onced
