// A directory for one test.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "server/base/check.h"

namespace onced {

// Made with a name of its own, and removed with all that is in it.
class TempDir {
 public:
  TempDir() : path_(testing::TempDir() + "/onced-XXXXXX") {
    ONCED_CHECK(mkdtemp(path_.data()) != nullptr);
    // Tests that turn into another user must get to what is below.
    ONCED_CHECK(chmod(path_.c_str(), 0755) == 0);
  }
  ~TempDir() {
    std::error_code error;  // Ignored: the next boot clears what a test leaves behind.
    std::filesystem::remove_all(path_, error);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace onced
