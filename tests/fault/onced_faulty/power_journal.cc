#include "tests/fault/onced_faulty/power_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace onced::fault {
namespace {

namespace fs = std::filesystem;

int OpenJournal(const std::string& folder) {
  fs::create_directories(folder);
  const int fd =
      open((folder + "/journal").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ONCED_CHECK(fd >= 0);
  return fd;
}

}  // namespace

ino_t InodeOf(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

PowerJournal::PowerJournal(std::string directory, std::string folder)
    : directory_(std::move(directory)), folder_(std::move(folder)), fd_(OpenJournal(folder_)) {}

PowerJournal::~PowerJournal() { close(fd_); }

bool PowerJournal::Knows(const std::string& path) const {
  return fs::path(path).parent_path().lexically_normal() == fs::path(directory_).lexically_normal();
}

// One write() of a whole line: a kill leaves all of it or nothing.
void PowerJournal::Write(const std::string& line) {
  const std::string text = line + "\n";
  ONCED_CHECK(write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

std::string PowerJournal::Keep(std::uint64_t change, const std::string& path) {
  const std::string name = absl::StrCat("kept-", change);
  if (link(path.c_str(), (folder_ + "/" + name).c_str()) != 0) return "-";
  kept_[change] = name;
  return name;
}

// What is there already and would be cut to nothing is a file of its own.
void PowerJournal::Create(const std::string& path, const Act& act) {
  MutexLock lock(mutex_);
  if (InodeOf(path) != 0) DeleteLocked(path, [&] { return unlink(path.c_str()) == 0; });
  const std::uint64_t change = NextChange();
  Write(absl::StrCat("create\t", change, "\t", path));
  Write(act() ? absl::StrCat("made\t", change, "\t", InodeOf(path))
              : absl::StrCat("failed\t", change));
}

void PowerJournal::Delete(const std::string& path, const Act& act) {
  MutexLock lock(mutex_);
  DeleteLocked(path, act);
}

void PowerJournal::DeleteLocked(const std::string& path, const Act& act) {
  const std::uint64_t change = NextChange();
  const std::string kept = Keep(change, path);
  Write(absl::StrCat("delete\t", change, "\t", path, "\t", kept));
  if (!act()) Write(absl::StrCat("failed\t", change));
}

void PowerJournal::Rename(const std::string& from, const std::string& to, const Act& act) {
  MutexLock lock(mutex_);
  const std::uint64_t change = NextChange();
  const std::string kept = Keep(change, to);
  Write(absl::StrCat("rename\t", change, "\t", from, "\t", kept, "\t", to, "\t", InodeOf(from)));
  if (!act()) Write(absl::StrCat("failed\t", change));
}

void PowerJournal::SyncDirectory(const Act& act) {
  std::uint64_t covered = 0;
  {
    MutexLock lock(mutex_);
    covered = last_change_;
  }
  if (!act()) return;
  MutexLock lock(mutex_);
  Write(absl::StrCat("entries\t", covered));
  while (!kept_.empty() && kept_.begin()->first <= covered) {
    unlink((folder_ + "/" + kept_.begin()->second).c_str());
    kept_.erase(kept_.begin());
  }
}

void PowerJournal::Opened(ino_t file, std::uint64_t size) {
  MutexLock lock(mutex_);
  Write(absl::StrCat("opened\t", file, "\t", size));
}

void PowerJournal::Synced(ino_t file, std::uint64_t size) {
  MutexLock lock(mutex_);
  Write(absl::StrCat("synced\t", file, "\t", size));
}

void PowerJournal::WillOverwrite(ino_t file, std::uint64_t offset, const std::string& old_bytes) {
  MutexLock lock(mutex_);
  Write(absl::StrCat("overwrite\t", file, "\t", offset, "\t", absl::BytesToHexString(old_bytes)));
}

}  // namespace onced::fault
