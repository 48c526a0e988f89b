#include "server/identity/reloaded.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/temp_dir.h"

namespace onced {
namespace {

// Two files with a number each; the value is their sum.
class ReloadedTest : public testing::Test {
 protected:
  using Sum = Reloaded<int>;

  ReloadedTest() {
    dir_.Write("a", "1");
    dir_.Write("b", "2");
  }

  absl::StatusOr<std::unique_ptr<Sum>> Open() {
    return Sum::Open({.files = {dir_.Path("a"), dir_.Path("b")},
                      .parse =
                          [this](const std::vector<std::string>& texts) {
                            ++parsed_;
                            return SumOf(texts);
                          },
                      .told = [this](const absl::Status& result) { told_.push_back(result); }});
  }
  std::unique_ptr<Sum> Opened() {
    auto opened = Open();
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

  static absl::StatusOr<int> SumOf(const std::vector<std::string>& texts) {
    int sum = 0;
    for (const std::string& text : texts) {
      int number = 0;
      if (!absl::SimpleAtoi(text, &number)) return absl::InvalidArgumentError("not a number");
      sum += number;
    }
    return sum;
  }

  const integration::TempDir dir_;
  int parsed_ = 0;
  std::vector<absl::Status> told_;
};

TEST_F(ReloadedTest, OpensWhatTheFilesSay) {
  const auto sum = Opened();
  EXPECT_EQ(*sum->Get(), 3);
  EXPECT_EQ(sum->version(), 1U);
  EXPECT_EQ(sum->successes() + sum->failures(), 0U);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ReloadedTest, DoesNotOpenWhatIsWrong) {
  dir_.Write("b", "two");
  EXPECT_EQ(Open().status(), absl::InvalidArgumentError("not a number"));
  std::filesystem::remove(dir_.Path("b"));
  EXPECT_EQ(Open().status().message(),
            dir_.Path("b") + ": can't be read: No such file or directory");
  EXPECT_TRUE(told_.empty());
}

TEST_F(ReloadedTest, TakesAChangeOnce) {
  const auto sum = Opened();
  const auto before = sum->Get();
  dir_.Write("b", "20");
  sum->Look();
  sum->Look();
  EXPECT_EQ(*sum->Get(), 21);
  EXPECT_EQ(*before, 3);  // Whoever works with it keeps it.
  EXPECT_EQ(sum->version(), 2U);
  EXPECT_EQ(sum->successes(), 1U);
  EXPECT_EQ(told_, std::vector<absl::Status>{absl::OkStatus()});
  EXPECT_EQ(parsed_, 2);
}

// A touch, or a copy put in its place.
TEST_F(ReloadedTest, GoesByWhatIsInTheFiles) {
  const auto sum = Opened();
  dir_.Write("new", "2");
  std::filesystem::rename(dir_.Path("new"), dir_.Path("b"));
  sum->Look();
  EXPECT_EQ(sum->version(), 1U);
  EXPECT_EQ(parsed_, 1);
  EXPECT_TRUE(told_.empty());
}

// As many bytes, in the file that was there, at the time that it had.
TEST_F(ReloadedTest, SeesAChangeThatTheFileSystemDoesNotShow) {
  const auto sum = Opened();
  const auto time = std::filesystem::last_write_time(dir_.Path("b"));
  dir_.Write("b", "7");
  std::filesystem::last_write_time(dir_.Path("b"), time);
  sum->Look();
  EXPECT_EQ(*sum->Get(), 8);
}

TEST_F(ReloadedTest, KeepsTheLastGoodOneAndTellsEachFailureOnce) {
  const auto sum = Opened();
  for (const char* wrong : {"x", "y"}) {  // The same complaint of another text is told again.
    dir_.Write("b", wrong);
    sum->Look();
    sum->Look();
  }
  std::filesystem::remove(dir_.Path("b"));
  sum->Look();
  sum->Look();
  EXPECT_EQ(*sum->Get(), 3);
  EXPECT_EQ(sum->version(), 1U);
  EXPECT_EQ(sum->failures(), 3U);
  ASSERT_EQ(told_.size(), 3U);
  EXPECT_EQ(told_[1], absl::InvalidArgumentError("not a number"));
  EXPECT_TRUE(absl::IsUnavailable(told_[2])) << told_[2];

  dir_.Write("b", "5");
  sum->Look();
  EXPECT_EQ(*sum->Get(), 6);
  EXPECT_EQ(sum->successes(), 1U);
  EXPECT_EQ(told_.back(), absl::OkStatus());
}

TEST_F(ReloadedTest, AFailureThatComesBackIsTold) {
  const auto sum = Opened();
  for (int i = 0; i < 2; ++i) {
    dir_.Write("b", "x");
    sum->Look();
    dir_.Write("b", "2");  // As before: nothing to take, nothing to tell.
    sum->Look();
  }
  EXPECT_EQ(sum->failures(), 2U);
  EXPECT_EQ(sum->successes(), 0U);
  EXPECT_EQ(told_.size(), 2U);
}

}  // namespace
}  // namespace onced
