#include "server/identity/file_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/temp_dir.h"

namespace onced {
namespace {

using testing::ElementsAre;

TEST(FileSet, IsReadInItsOrderByteForByte) {
  const integration::TempDir dir;
  const std::string bytes("\0\r\n\xff", 4);
  const std::vector<std::string> paths = {dir.Write("b", bytes), dir.Write("a", ""),
                                          dir.Write("c", "\n")};
  const auto texts = ReadFileSet(paths);
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(*texts, ElementsAre(bytes, "", "\n"));
}

TEST(FileSet, OfWhichOneCannotBeReadIsAnErrorThatNamesIt) {
  const integration::TempDir dir;
  const std::string there = dir.Write("there", "x");
  std::filesystem::create_symlink("nowhere", dir.Path("dangling"));
  const std::string fifo = dir.Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const struct {
    std::string path;
    const char* says;
  } kRows[] = {
      {dir.Path("none"), "can't be read: No such file or directory"},
      {dir.Path("dangling"), "can't be read: No such file or directory"},
      {there + "/below", "can't be read: Not a directory"},
      {dir.path(), "is not a regular file"},
      {"/dev/zero", "is not a regular file"},
      {fifo, "is not a regular file"},  // Nobody ever writes to it.
      {"", "can't be read: No such file or directory"},
  };
  for (const auto& row : kRows) {
    const absl::Status status = ReadFileSet(std::vector<std::string>{there, row.path}).status();
    EXPECT_EQ(status.message(), absl::StrCat(row.path, ": ", row.says));
  }
}

TEST(FileSet, HasABoundForEachFile) {
  const integration::TempDir dir;
  const std::string most(kIdentityFileBytesMax, 'x');
  const auto read = [&](const std::string& text) {
    return ReadFileSet(std::vector<std::string>{dir.Write("f", text)});
  };
  ASSERT_TRUE(read(most).ok());
  EXPECT_EQ(read(most)->front().size(), kIdentityFileBytesMax);
  EXPECT_EQ(read(most + "x").status().message(), dir.Path("f") + ": has over 1048576 bytes");
}

// Both files come from one turn of the link, while it turns all the time. Whoever turns it
// waits for the reader each time, at another point of its reading.
TEST(FileSet, IsOfOneMoment) {
  const integration::TempDir dir;
  namespace fs = std::filesystem;
  const auto turn_to = [&](const std::string& version) {
    fs::remove(dir.Path("new"));
    fs::create_symlink(version, dir.Path("new"));
    fs::rename(dir.Path("new"), dir.Path("data"));
  };
  for (const char* version : {"1", "2"}) {
    fs::create_directory(dir.Path(version));
    for (const char* name : {"a", "b"}) dir.Write(absl::StrCat(version, "/", name), version);
  }
  turn_to("1");
  const std::vector<std::string> paths = {dir.Path("data/a"), dir.Path("data/b")};
  std::atomic<int> reads{0};
  std::atomic<bool> stop{false};
  std::thread turning([&] {
    for (int turn = 0; !stop; ++turn) {
      const int seen = reads;
      turn_to(turn % 2 == 0 ? "2" : "1");
      while (!stop && reads == seen) std::this_thread::yield();
    }
  });
  int torn = 0;
  for (; reads < 500; ++reads) {
    const auto texts = ReadFileSet(paths);
    if (!texts.ok() || (*texts)[0] != (*texts)[1]) ++torn;
  }
  stop = true;
  turning.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace onced
