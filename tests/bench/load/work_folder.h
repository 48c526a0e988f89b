// A folder of a run's own.
#pragma once

#include <string>

namespace onced::bench {

// Lifetime: the folder and all in it go with the object.
class WorkFolder {
 public:
  // Made in `parent`, which lies on the disk to be measured.
  explicit WorkFolder(const std::string& parent);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  // Makes a new one inside.
  std::string MakeFolder();

 private:
  std::string path_;
  int made_ = 0;
};

}  // namespace onced::bench
