// The directory that a store lives in, before RocksDB looks at it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onced {

// Makes the directory where it is missing, and those above it, for their owner
// alone. FAILED_PRECONDITION, in one line that names it, if it can't be made,
// is no directory, may not be written, or holds a restore that did not end.
absl::Status PrepareDirectory(const std::string& directory);
// The same without the last, for who makes a restore.
absl::Status MakeDataDirectory(const std::string& directory);
// And for one that backups are kept in.
absl::Status PrepareBackupDirectory(const std::string& directory);

// The same directory by a path from the root, which the backup engine wants.
std::string AbsolutePath(const std::string& directory);

// Whether a RocksDB was made here: then its CURRENT file is there.
bool HoldsDatabase(const std::string& directory);

// For a directory without a database: FAILED_PRECONDITION if it holds more than
// one that was being made leaves behind. That may be anything but also a store
// which lost its CURRENT file, and RocksDB would make an empty one over it.
absl::Status CheckVacant(const std::string& directory);

// Makes the directory's own entry, and those above it, survive a power loss:
// RocksDB sees to what is inside only.
absl::Status SyncEntries(const std::string& directory);

// A restore puts a store's files into the directory RESTORING in the data
// directory, and moves them up when all is done. While RESTORING is there, the
// data directory is no store, whatever else is in it.
//
// Begins one and returns the path of RESTORING, which is empty then. The data
// directory is FAILED_PRECONDITION if it isn't vacant; what a restore that did
// not end has left is removed. UNAVAILABLE if reading or writing fails.
absl::StatusOr<std::string> BeginRestore(const std::string& directory);
// Moves up what is in RESTORING, and removes that. Durable when it returns.
// UNAVAILABLE if it fails: the whole restore can be run again.
absl::Status EndRestore(const std::string& directory);

}  // namespace onced
