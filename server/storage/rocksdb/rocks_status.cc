#include "server/storage/rocksdb/rocks_status.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace onced {

absl::Status FromRocks(absl::string_view what, const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message =
      absl::StrCat(what, ": ", absl::StrReplaceAll(status.ToString(), {{"\n", " "}}));
  return status.IsCorruption() ? absl::DataLossError(message) : absl::UnavailableError(message);
}

absl::Status FromRocksOpen(absl::string_view directory, const rocksdb::Status& status) {
  const std::string where = absl::StrCat("data directory ", directory);
  const std::string message = absl::StrReplaceAll(status.ToString(), {{"\n", " "}});
  if (status.IsIOError() && absl::StrContains(message, "Permission denied")) {
    return absl::FailedPreconditionError(
        absl::StrCat(where, ": a file in it may not be read and written: ", message));
  }
  // RocksDB has no code for this one: of another process's lock, and of this one's.
  const bool locked = absl::StrContains(message, "While lock file: ") ||
                      absl::StrContains(message, "lock hold by current process");
  if (status.IsIOError() && locked) {
    return absl::FailedPreconditionError(
        absl::StrCat(where, ": in use by another process: stop that, or name another directory"));
  }
  // A file that another one names.
  const bool missing =
      status.IsPathNotFound() || absl::StrContains(message, "No such file or directory");
  if (missing) {
    return absl::DataLossError(absl::StrCat(where, ": damaged: a file is missing: ", message));
  }
  if (status.IsCorruption()) return FromRocks(absl::StrCat(where, ": damaged"), status);
  return FromRocks(absl::StrCat(where, ": can't be opened"), status);
}

}  // namespace onced
