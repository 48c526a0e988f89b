#include "tests/bench/load/work_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace onced::bench {

WorkFolder::WorkFolder(const std::string& parent) : path_(parent + "/onced-bench.XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("can't make " + path_);
  // Other users' servers go through it to their own folders.
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;  // Ignored: what can't be removed is left to the system.
  std::filesystem::remove_all(path_, ignored);
}

std::string WorkFolder::MakeFolder() {
  std::string path = path_ + "/" + std::to_string(++made_);
  std::filesystem::create_directory(path);
  return path;
}

}  // namespace onced::bench
