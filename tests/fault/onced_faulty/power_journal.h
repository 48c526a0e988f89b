// A machine that may lose its power: what was not synced is then gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "server/base/mutex.h"

namespace onced::fault {

// Operation: the files themselves are always up to date, as a running system
//            shows them; what a loss of power would undo is written beside them,
//            into a folder of its own: how far each file was synced, the bytes
//            that were overwritten in place, the changes of the directory. Files
//            that were deleted or replaced are kept there by a link until the
//            directory is synced. The process may be killed at any time: the
//            kernel keeps all of it. Then LosePower() makes of the files what a
//            disk might hold after the power had failed at that moment.
// Threads:   any.
// Limits:    knows one directory, without those below it, on the folder's file
//            system. Only sync and fsync make data durable, only the directory's
//            fsync makes its entries durable, as POSIX has it; most file systems
//            do more. To shorten a file counts as durable at once.
class PowerJournal {
 public:
  using Act = std::function<bool()>;  // Whether it succeeded.

  // Nothing is at stake yet: all that is there is durable. Makes the folder.
  PowerJournal(std::string directory, std::string folder);
  ~PowerJournal();
  PowerJournal(const PowerJournal&) = delete;
  PowerJournal& operator=(const PowerJournal&) = delete;

  bool Knows(const std::string& path) const;

  // ---- Changes of the directory, one at a time ----
  void Create(const std::string& path, const Act& act) ABSL_LOCKS_EXCLUDED(mutex_);
  void Delete(const std::string& path, const Act& act) ABSL_LOCKS_EXCLUDED(mutex_);
  void Rename(const std::string& from, const std::string& to, const Act& act)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `act` is the fsync: it covers what was done before it began.
  void SyncDirectory(const Act& act) ABSL_LOCKS_EXCLUDED(mutex_);

  // ---- Of files, by their inodes ----
  // One that was there, to be changed: durable as it is, unless this journal
  // knows better.
  void Opened(ino_t file, std::uint64_t size) ABSL_LOCKS_EXCLUDED(mutex_);
  // `size`: how long it was when the sync began.
  void Synced(ino_t file, std::uint64_t size) ABSL_LOCKS_EXCLUDED(mutex_);
  // Before it happens.
  void WillOverwrite(ino_t file, std::uint64_t offset, const std::string& old_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Write(const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::uint64_t NextChange() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ++last_change_; }
  // Keeps the file that has this name now; the name of its link, "-" if there is none.
  std::string Keep(std::uint64_t change, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeleteLocked(const std::string& path, const Act& act) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  const std::string directory_;
  const std::string folder_;
  const int fd_;

  // Shared.
  Mutex mutex_;
  std::uint64_t last_change_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::string> kept_ ABSL_GUARDED_BY(mutex_);  // Links, by change.
};

// The inode that a path leads to; 0 if there is none.
ino_t InodeOf(const std::string& path);

// Makes of the directory what a loss of power left, one chance among many, picked
// by `seed`: of a file's unsynced data nothing, a part, all, or zeros in its
// place; of unsynced changes of the directory none, the first few, any, or all.
// Empties the folder; does nothing where there is none. What it did, in words.
std::string LosePower(const std::string& directory, const std::string& folder, std::uint64_t seed);

}  // namespace onced::fault
