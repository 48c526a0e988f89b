// Which files RocksDB needs, and whether they are all there.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/rocksdb/watermark.h"

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

namespace onced {

// Fills in the manifest and the logs of `value`. Whatever the files hold then is
// durable once the log is synced: only the last log is still written to.
absl::Status MarkFiles(rocksdb::DB& db, WatermarkValue& value);

// Whether the logs that are there can follow each other as they do. Looks before
// RocksDB does, which takes their order from their names, and ends the process if
// one holds what another does. DATA_LOSS names the file.
absl::Status CheckLogOrder(rocksdb::Env& env, const std::string& directory);

// Whether all that `value` names is there, and as long as it was. `db` was opened
// on what is there now, perhaps for reading only: its MANIFEST tells which logs
// were retired in the meantime. DATA_LOSS with what is wrong; the message names
// the file, but not the directory.
absl::Status CheckFiles(rocksdb::DB& db, const WatermarkValue& value);

}  // namespace onced
