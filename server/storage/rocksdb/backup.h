// Copies of a store, made while it is used.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/backup_report.h"
#include "server/storage/store.h"

namespace rocksdb {
class DB;
}  // namespace rocksdb

namespace onced {

struct BackupPlan {
  std::string directory;   // Made if missing, for its owner alone: tokens are in it.
  std::uint32_t keep = 7;  // So many of the newest stay; 0: all.
  // Read and written a second; 0: as fast as it goes.
  std::uint64_t rate_bytes = std::uint64_t{64} << 20;
  // To be left on the directory's file system: it may be the store's own.
  std::uint64_t reserve_bytes = 0;
};

// Makes a backup by RocksDB's engine, verifies it, and removes those that are
// too old. A backup that fails or is damaged is deleted; one that a crash left
// unverified is deleted by the next call. `cut_time` is a time of the server's
// from before this call: all that was acknowledged until then is in the backup.
//
// Threads: one backup at a time; the store is used meanwhile. `stop` ends it
//          soon, from any thread.
//
// FAILED_PRECONDITION if the directory can't be used, or is another store's, also
// one that was restored from the same backups; RESOURCE_EXHAUSTED if it
// has too little space, DATA_LOSS if the copy or the store is damaged, CANCELLED
// once `stop` is set, UNAVAILABLE for all else.
absl::StatusOr<BackupReport> MakeBackup(rocksdb::DB& db, const StoreIdentity& identity,
                                        const BackupPlan& plan, absl::Time cut_time,
                                        const std::atomic<bool>& stop);

// The newest verified backup of a directory by its own account; nullopt if there
// is none that can be read. Changes nothing.
std::optional<BackupReport> FindNewestBackup(const std::string& directory);

}  // namespace onced
