// Whether a backup is whole: the same for one just made and one to be restored.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/backup_engine.h"
#include "server/storage/codec/backup_label.h"
#include "server/storage/codec/store_meta.h"
#include "server/storage/rocksdb/plain_database.h"

namespace onced {

// Reads every file of the backup: 1. that its checksum is the one from when it
// was copied, 2. that it opens as the store that its label names, 3. that
// every block has the checksum that RocksDB gave it, which finds what was
// damaged before it was copied. What the store knows of itself.
//
// DATA_LOSS if it is damaged; FAILED_PRECONDITION if a newer version made it.
absl::StatusOr<StoreMeta> CheckBackup(const rocksdb::BackupEngineReadOnlyBase& engine,
                                      rocksdb::BackupID id, const BackupLabel& label,
                                      Limiter limiter = nullptr);

// What RocksDB's engine takes for a bug of its own, and ends the process: it reads
// the lists of all backups, `meta/N`, when it is opened, so that they are looked at
// before, each time. What else may be wrong with a list is its backup's alone, and
// the engine says so.
//
// DATA_LOSS if two lists give one file different checksums; FAILED_PRECONDITION if
// a backup's number leaves none for the next.
absl::Status CheckLists(rocksdb::Env& env, const std::string& directory);

// Whole ones and damaged ones, in no order.
std::vector<rocksdb::BackupID> AllBackups(const rocksdb::BackupEngineReadOnlyBase& engine);

// The status of an operation on the backups in `directory`.
absl::Status FromBackup(const std::string& directory, absl::string_view what,
                        const rocksdb::Status& status);

}  // namespace onced
