#include "tests/integration/temp_dir.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "gtest/gtest.h"

namespace onced::integration {

TempDir::TempDir() : path_(testing::TempDir() + "onced_XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("can't make " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;  // Ignored: what can't be removed is left to the system.
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::Write(const std::string& name, const std::string& contents) const {
  std::string path = Path(name);
  std::ofstream file(path, std::ios::binary);
  file << contents;
  if (!file.flush()) throw std::runtime_error("can't write " + path);
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("can't read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace onced::integration
