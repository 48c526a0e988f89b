// The directory that a store lives in, before RocksDB looks at it.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace onced {

// Makes the directory where it is missing, and those above it, for their owner
// alone. FAILED_PRECONDITION, in one line that names it, if it can't be made,
// is no directory, or may not be written.
absl::Status PrepareDirectory(const std::string& directory);

// Whether a RocksDB was made here: then its CURRENT file is there.
bool HoldsDatabase(const std::string& directory);

// For a directory without a database: FAILED_PRECONDITION if it holds more than
// one that was being made leaves behind. That may be anything but also a store
// which lost its CURRENT file, and RocksDB would make an empty one over it.
absl::Status CheckVacant(const std::string& directory);

// Makes the directory's own entry, and those above it, survive a power loss:
// RocksDB sees to what is inside only.
absl::Status SyncEntries(const std::string& directory);

}  // namespace onced
