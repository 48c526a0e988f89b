// A folder of a run's own.
#pragma once

#include <optional>
#include <string>

#include "tests/bench/load/folder_guard.h"

namespace onced::bench {

// Lifetime: the folder and all in it go with the object, or with a process that is killed.
class WorkFolder {
 public:
  // Made in `parent`, which lies on the disk to be measured.
  explicit WorkFolder(const std::string& parent);

  const std::string& path() const { return path_; }
  // Makes a new one inside.
  std::string MakeFolder();
  // Has all that was written to its file system put on the disk: a sync of one file may
  // have to wait for what others wrote before.
  void Settle() const;

 private:
  std::string path_;
  std::optional<FolderGuard> guard_;  // From when the folder is there.
  int made_ = 0;
};

}  // namespace onced::bench
