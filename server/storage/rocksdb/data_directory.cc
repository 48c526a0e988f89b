#include "server/storage/rocksdb/data_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onced {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnerOnly = 0700;

constexpr char kStaging[] = "RESTORING";

absl::Status Unfit(const std::string& directory, absl::string_view why,
                   absl::string_view what = "data directory") {
  return absl::FailedPreconditionError(absl::StrCat(what, " ", directory, ": ", why));
}

// Of an operation that failed, and may not when it is tried again.
absl::Status Failed(const fs::path& path, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("data directory ", path.string(), ": ", why));
}

// Absolute, and without a slash at its end, so that every part has a parent.
fs::path Normal(const std::string& directory) {
  std::error_code error;
  fs::path path = fs::absolute(directory, error).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

// 0, or what errno was.
int MakeMissing(const fs::path& path) {
  if (mkdir(path.c_str(), kOwnerOnly) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT || path == path.parent_path()) return errno;
  const int error = MakeMissing(path.parent_path());
  if (error != 0) return error;
  return mkdir(path.c_str(), kOwnerOnly) == 0 || errno == EEXIST ? 0 : errno;
}

// What RocksDB makes before CURRENT, and what a fresh file system holds.
bool MayBeVacant(const std::string& name) {
  return name == "LOCK" || name == "LOG" || name == "IDENTITY" || name == "lost+found" ||
         absl::StartsWith(name, "LOG.old.") || absl::StartsWith(name, "MANIFEST-") ||
         absl::EndsWith(name, ".dbtmp");
}

absl::Status MakeUsable(const std::string& directory, absl::string_view what) {
  if (directory.empty()) return Unfit("\"\"", "none was named", what);
  const fs::path path = Normal(directory);
  const int error = MakeMissing(path);
  if (error != 0) {
    return Unfit(directory, absl::StrCat("can't be made: ", std::strerror(error)), what);
  }
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return Unfit(directory, std::strerror(errno), what);
  if (!S_ISDIR(found.st_mode)) return Unfit(directory, "is not a directory", what);
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return Unfit(directory,
                 absl::StrCat("not writable by user ", geteuid(), ": ", std::strerror(errno)),
                 what);
  }
  return absl::OkStatus();
}

// Half of a store must not be taken for one.
absl::Status CheckRestored(const std::string& directory) {
  std::error_code error;
  if (!fs::exists(fs::path(directory) / kStaging, error)) return absl::OkStatus();
  return Unfit(directory, absl::StrCat("holds a restore that did not end (", kStaging,
                                       "): run the same onced restore again"));
}

int SyncDirectory(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? 0 : errno;  // Not ours to read, so not made by us.
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

// What a restore leaves alone: a file system's own, and the lock that it holds.
bool IsKept(const fs::path& path) {
  return path.filename() == "LOCK" || path.filename() == "lost+found" ||
         path.filename() == kStaging;
}

absl::Status RemoveAllBut(bool (*kept)(const fs::path&), const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end;) {
    const fs::path path = at->path();
    at.increment(error);
    if (!error && !kept(path)) fs::remove_all(path, error);
  }
  return error ? Failed(directory, error.message()) : absl::OkStatus();
}

absl::Status SyncOrFail(const fs::path& path) {
  const int error = SyncDirectory(path);
  return error == 0 ? absl::OkStatus() : Failed(path, std::strerror(error));
}

absl::Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? Failed(to, error.message()) : absl::OkStatus();
}

}  // namespace

absl::Status PrepareDirectory(const std::string& directory) {
  const absl::Status usable = MakeDataDirectory(directory);
  return usable.ok() ? CheckRestored(directory) : usable;
}

absl::Status MakeDataDirectory(const std::string& directory) {
  return MakeUsable(directory, "data directory");
}

absl::Status PrepareBackupDirectory(const std::string& directory) {
  return MakeUsable(directory, "backup directory");
}

std::string AbsolutePath(const std::string& directory) { return Normal(directory).string(); }

bool HoldsDatabase(const std::string& directory) {
  std::error_code error;
  return fs::exists(fs::path(directory) / "CURRENT", error);
}

absl::Status CheckVacant(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (MayBeVacant(name)) continue;
    return Unfit(directory, absl::StrCat("holds \"", name, "\" but no store (no file CURRENT): ",
                                         "put the file back, or name an empty or a new directory"));
  }
  return error ? Unfit(directory, error.message()) : absl::OkStatus();
}

absl::Status SyncEntries(const std::string& directory) {
  fs::path path = Normal(directory);
  while (path != path.parent_path()) {
    path = path.parent_path();
    const int error = SyncDirectory(path);
    if (error != 0) {
      return absl::UnavailableError(absl::StrCat("data directory ", directory, ": can't sync ",
                                                 path.string(), ": ", std::strerror(error)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> BeginRestore(const std::string& directory) {
  absl::Status status = MakeDataDirectory(directory);
  if (!status.ok()) return status;
  const fs::path path = Normal(directory);
  const fs::path staging = path / kStaging;
  if (CheckRestored(directory).ok()) {
    if (HoldsDatabase(directory)) {
      return Unfit(directory, "holds a store: name an empty or a new directory");
    }
    status = CheckVacant(directory);
    if (!status.ok()) return status;
    if (mkdir(staging.c_str(), kOwnerOnly) != 0) return Failed(directory, std::strerror(errno));
  }
  // RESTORING stays throughout, so that a crash in here leaves it as it was.
  status = SyncOrFail(path);
  if (status.ok()) status = SyncEntries(directory);
  if (status.ok()) status = RemoveAllBut(&IsKept, path);
  if (status.ok()) status = RemoveAllBut([](const fs::path&) { return false; }, staging);
  if (!status.ok()) return status;
  return staging.string();
}

// 1. all but CURRENT, 2. CURRENT, without which there is no store, 3. RESTORING.
absl::Status EndRestore(const std::string& directory) {
  const fs::path path = Normal(directory);
  const fs::path staging = path / kStaging;
  absl::Status status = SyncOrFail(staging);
  std::error_code error;
  for (fs::directory_iterator at(staging, error), end; status.ok() && !error && at != end;) {
    const fs::path from = at->path();
    at.increment(error);
    if (!error && from.filename() != "CURRENT" && from.filename() != "LOCK") {
      status = Move(from, path / from.filename());
    }
  }
  if (error) return Failed(directory, error.message());
  if (status.ok()) status = SyncOrFail(path);
  if (status.ok()) status = Move(staging / "CURRENT", path / "CURRENT");
  if (status.ok()) status = SyncOrFail(path);
  if (!status.ok()) return status;
  fs::remove_all(staging, error);
  return error ? Failed(directory, error.message()) : SyncOrFail(path);
}

}  // namespace onced
