#include "tests/bench/load/work_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace onced::bench {

WorkFolder::WorkFolder(const std::string& parent) : path_(parent + "/onced-bench.XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("can't make " + path_);
  guard_.emplace(path_);
  // Other users' servers go through it to their own folders.
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
}

std::string WorkFolder::MakeFolder() {
  std::string path = path_ + "/" + std::to_string(++made_);
  std::filesystem::create_directory(path);
  return path;
}

void WorkFolder::Settle() const {
  const int fd = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  // Ignored: it makes the measurement quieter, not right.
  (void)syncfs(fd);
  close(fd);
}

}  // namespace onced::bench
