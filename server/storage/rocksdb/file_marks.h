// Which files RocksDB needs, and whether they are all there.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/rocksdb/log_walk.h"
#include "server/storage/rocksdb/watermark.h"

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

namespace onced {

// Fills in the manifest and the logs of `value`. What they say is durable once the
// log was synced after it. `last` is the manifest of the mark before, if any.
absl::Status MarkFiles(rocksdb::DB& db, const ManifestMark& last, WatermarkValue& value);

// What is in the logs from number `oldest` on, by their numbers. They can follow
// each other as they do, else this is DATA_LOSS, and names the file: RocksDB
// takes their order from their names, and ends the process if one holds what
// another does. (An older one may be there again after a loss of power, and its
// numbers have been used again.)
using LogContents = std::map<std::uint64_t, LogContent>;
absl::StatusOr<LogContents> WalkLogs(rocksdb::Env& env, const std::string& directory,
                                     std::uint64_t oldest);

// Whether all that `value` names is there, and as it was, and no write is missing
// between others in `logs`. `db` was opened on what is there now, perhaps for
// reading only: its MANIFEST tells which logs were retired in the meantime.
// DATA_LOSS with what is wrong; the message names the file, but not the directory.
absl::Status CheckFiles(rocksdb::DB& db, const WatermarkValue& value, const LogContents& logs);

}  // namespace onced
