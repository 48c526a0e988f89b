// Whether all that was durable is still there.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace onced {

// Looks at the store in `directory`, which holds a database, without a change to any
// file, so that a refusal leaves all of the evidence: RocksDB would take a shorter
// log for the whole one, and go on. `options` and `families` are those that it is to
// be opened with.
//
// How its log is to be recovered. DATA_LOSS, in one line that names the directory,
// if something is missing or damaged; FAILED_PRECONDITION if it is in use, or a
// newer version wrote it.
absl::StatusOr<rocksdb::WALRecoveryMode> CheckDurable(
    const rocksdb::DBOptions& options, const std::string& directory,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace onced
