// That a folder goes with the process that made it.
#include "tests/bench/load/folder_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/bench/load/work_folder.h"
#include "tests/integration/process.h"
#include "tests/integration/temp_dir.h"

namespace onced::bench {
namespace {

TEST(FolderGuard, RemovesTheFolder) {
  const integration::TempDir parent;
  const std::string folder = parent.Path("folder");
  std::filesystem::create_directories(folder + "/inside");
  std::optional<FolderGuard> guard(folder);
  EXPECT_TRUE(std::filesystem::exists(folder));
  guard.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(FolderGuard, RemovesTheFolderOfAProcessThatIsKilled) {
  const integration::TempDir parent;
  const std::string folder = parent.Path("folder");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/file") << "contents";
  const pid_t child = fork();
  if (child == 0) {
    const FolderGuard guard(folder);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  integration::Await("the folder is gone", [&] { return !std::filesystem::exists(folder); });
}

TEST(WorkFolder, MakesFoldersThatGoWithIt) {
  const integration::TempDir parent;
  std::optional<WorkFolder> work(parent.path());
  const std::string one = work->MakeFolder();
  const std::string two = work->MakeFolder();
  EXPECT_NE(one, two);
  EXPECT_TRUE(std::filesystem::is_directory(one));
  EXPECT_TRUE(std::filesystem::is_directory(two));
  work.reset();
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

}  // namespace
}  // namespace onced::bench
