// Removes a folder when this process ends, however it ends.
#pragma once

#include <sys/types.h>

#include <string>

namespace onced::bench {

// Operation: a process of its own waits for ours to end, at a pipe of which we hold the
//            other end, and then removes the folder. A destructor alone would leave
//            gigabytes behind whenever a run is killed.
// Threads:   one.
// Lifetime:  the folder goes with it.
class FolderGuard {
 public:
  // Without it, if it can't be started, only the destructor removes the folder.
  explicit FolderGuard(std::string folder);
  ~FolderGuard();
  FolderGuard(const FolderGuard&) = delete;
  FolderGuard& operator=(const FolderGuard&) = delete;

 private:
  const std::string folder_;
  pid_t pid_ = -1;
  int held_ = -1;
};

}  // namespace onced::bench
