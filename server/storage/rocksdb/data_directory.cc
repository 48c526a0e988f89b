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

absl::Status Unfit(const std::string& directory, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("data directory ", directory, ": ", why));
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

int SyncDirectory(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? 0 : errno;  // Not ours to read, so not made by us.
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

absl::Status PrepareDirectory(const std::string& directory) {
  if (directory.empty()) return Unfit("\"\"", "none was named");
  const fs::path path = Normal(directory);
  const int error = MakeMissing(path);
  if (error != 0) return Unfit(directory, absl::StrCat("can't be made: ", std::strerror(error)));
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return Unfit(directory, std::strerror(errno));
  if (!S_ISDIR(found.st_mode)) return Unfit(directory, "is not a directory");
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return Unfit(directory,
                 absl::StrCat("not writable by user ", geteuid(), ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

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

}  // namespace onced
