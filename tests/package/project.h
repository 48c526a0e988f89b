// The client library as it is installed, and projects of their own that use it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/integration/process.h"
#include "tests/integration/server_process.h"
#include "tests/integration/temp_dir.h"

namespace onced::integration {

class ProjectTest : public testing::Test {
 protected:
  // Into the folder `prefix` of `dir_`.
  void Install() {
    Must({ONCED_CMAKE, "--install", ONCED_BUILD_DIR, "--component", "client", "--prefix",
          dir_.Path("prefix")});
  }
  // Of the project in the folder `name` of `dir_`: into NAME/build. Of the sources, nothing but
  // that is there for it.
  void Build(const std::string& name) {
    const std::string source = dir_.Path(name);
    Must({ONCED_CMAKE, "-G", ONCED_GENERATOR, "-S", source, "-B", source + "/build",
          "-DCMAKE_PREFIX_PATH=" + dir_.Path("prefix"), "-DCMAKE_CXX_COMPILER=" ONCED_COMPILER,
          "-DCMAKE_CXX_FLAGS=" ONCED_FLAGS " -Wall -Wextra -Werror"});
    Must({ONCED_CMAKE, "--build", source + "/build", "--parallel", "2"});
  }
  // Runs the tests of a project that has been built.
  void Test(const std::string& name) {
    Must({ONCED_CMAKE, "--build", dir_.Path(name) + "/build", "--target", "test"});
  }

  TempDir dir_;
  ServerProcess server_;

 private:
  // A compiler is slow where others use the machine, too.
  static void Must(const std::vector<std::string>& argv) {
    Process process({.argv = argv});
    const int code = process.Wait(std::chrono::minutes(8));
    ASSERT_EQ(code, 0) << argv[1] << " " << argv[2] << "\n"
                       << process.out().AllText() << process.err().AllText();
  }
};

}  // namespace onced::integration
