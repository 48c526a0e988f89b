// What RocksDB's statuses mean here.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rocksdb/status.h"

namespace onced {

// Of one read or write: DATA_LOSS for damage, else UNAVAILABLE. `what` begins
// the message, which is a single line.
absl::Status FromRocks(absl::string_view what, const rocksdb::Status& status);

// Of opening the database in `directory`: FAILED_PRECONDITION also where it is
// in use, or its files may not be written.
absl::Status FromRocksOpen(absl::string_view directory, const rocksdb::Status& status);

}  // namespace onced
