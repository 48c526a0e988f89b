// The lock of a directory, as RocksDB takes it.
#pragma once

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rocksdb/env.h"

namespace onced {

// Against other processes, and against others in this one.
// Lifetime: given up when it goes, at the latest.
class DirectoryLock {
 public:
  explicit DirectoryLock(rocksdb::Env& env) : env_(env) {}
  ~DirectoryLock() {
    // Ignored: the end of the process gives it up in any case.
    GiveUp().PermitUncheckedError();
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  rocksdb::Status Take(const std::string& directory) {
    return env_.LockFile(absl::StrCat(directory, "/LOCK"), &lock_);
  }
  // For those who want to know whether that worked.
  rocksdb::Status GiveUp() {
    if (lock_ == nullptr) return rocksdb::Status::OK();
    return env_.UnlockFile(std::exchange(lock_, nullptr));
  }

 private:
  rocksdb::Env& env_;
  rocksdb::FileLock* lock_ = nullptr;
};

}  // namespace onced
