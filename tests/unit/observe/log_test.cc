#include "server/observe/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/mutex.h"
#include "server/observe/json.h"

namespace onced {
namespace {

using testing::ElementsAre;

// Stands still until it is moved.
class ManualClock final : public Clock {
 public:
  absl::Time Now() const override {
    MutexLock lock(mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(mutex_);
    now_ += by;
  }

 private:
  mutable Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixMicros(1'769'860'800'000'001);
};

// A file that a log writes to.
class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "onced_log_XXXXXX";
    fd_ = mkstemp(path.data());
    ASSERT_GE(fd_, 0);
    unlink(path.c_str());
  }
  void TearDown() override { close(fd_); }

  Log::Options Options(LogLevel level = LogLevel::kInfo) const {
    return {.level = level, .fd = fd_};
  }

  std::string Text() const {
    std::string text;
    char buffer[4096];
    off_t at = 0;
    for (ssize_t n = 0; (n = pread(fd_, buffer, sizeof buffer, at)) > 0; at += n) {
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines = absl::StrSplit(Text(), '\n');
    EXPECT_EQ(lines.back(), "");
    lines.pop_back();
    return lines;
  }

  ManualClock clock_;
  int fd_ = -1;
};

TEST_F(LogTest, WritesTypedFields) {
  Log log(clock_, Options());
  const std::string text = "owned";
  log.Info("serving", {{"literal", "a"},
                       {"string", text},
                       {"view", absl::string_view("v")},
                       {"int", -1},
                       {"size", std::size_t{18'446'744'073'709'551'615u}},
                       {"port", std::uint16_t{9464}},
                       {"double", 0.1},
                       {"bool", true},
                       {"grace", absl::Milliseconds(1500)},
                       {"endless", absl::InfiniteDuration()}});
  EXPECT_EQ(Text(),
            "{\"time\":\"2026-01-31T12:00:00.000001Z\",\"level\":\"info\",\"event\":\"serving\","
            "\"literal\":\"a\",\"string\":\"owned\",\"view\":\"v\",\"int\":-1,"
            "\"size\":18446744073709551615,\"port\":9464,\"double\":0.1,\"bool\":true,"
            "\"grace\":1.5,\"endless\":\"Infinity\"}\n");
}

TEST_F(LogTest, LeavesOutWhatIsBelowItsLevel) {
  Log log(clock_, Options(LogLevel::kWarn));
  log.Debug("a");
  log.Info("b");
  log.WriteLimited(LogLevel::kInfo, "c");
  log.Warn("d");
  log.Error("e");
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(absl::StrContains(lines[0], "\"level\":\"warn\",\"event\":\"d\""));
  EXPECT_TRUE(absl::StrContains(lines[1], "\"level\":\"error\",\"event\":\"e\""));
}

TEST_F(LogTest, EscapesWhatAClientMayHaveSent) {
  Log log(clock_, Options());
  log.Info("e", {{"s", "a\"b\\c\nd\x1b[31m\xff"}});
  EXPECT_TRUE(absl::EndsWith(Text(), "\"s\":\"a\\\"b\\\\c\\nd\\u001b[31m\\ufffd\"}\n")) << Text();
}

TEST_F(LogTest, KeepsALineInsideItsBound) {
  Log log(clock_, Options());
  // Six bytes of JSON for each of these.
  log.Info("e", {{"before", 1}, {"big", std::string(1000, '\x01')}, {"after", 2}});
  EXPECT_EQ(Lines().size(), 1u);
  EXPECT_TRUE(absl::EndsWith(Text(), "\"before\":1,\"after\":2,\"truncated\":true}\n")) << Text();

  // Whatever the size of a field, the line fits a pipe's atomic write.
  for (std::size_t size = 3800; size <= 4100; ++size) {
    log.Info("e", {{"s", std::string(size, 'x')}});
  }
  std::size_t longest = 0;
  for (const std::string& line : Lines()) longest = std::max(longest, line.size() + 1);
  EXPECT_LE(longest, Log::kLineBytesMax);
  EXPECT_GT(longest, Log::kLineBytesMax - 100);
}

// How many lines of an event there are, and what the last one says of others.
std::string LastLine(const std::vector<std::string>& lines) {
  return absl::StrCat(lines.size(), " ", lines.empty() ? "" : lines.back());
}

TEST_F(LogTest, LimitsEventsThatClientsCause) {
  Log log(clock_, Options());
  for (int i = 0; i < 25; ++i) log.WriteLimited(LogLevel::kWarn, "bad_request", {{"i", i}});
  EXPECT_TRUE(absl::StartsWith(LastLine(Lines()), "10 ")) << LastLine(Lines());
  EXPECT_TRUE(absl::EndsWith(LastLine(Lines()), "\"i\":9}"));

  // Another event has tokens of its own.
  log.WriteLimited(LogLevel::kWarn, "other");
  EXPECT_EQ(Lines().size(), 11u);

  clock_.Advance(absl::Milliseconds(999));
  log.WriteLimited(LogLevel::kWarn, "bad_request");
  EXPECT_EQ(Lines().size(), 11u);
  clock_.Advance(absl::Milliseconds(1));
  log.WriteLimited(LogLevel::kWarn, "bad_request");
  EXPECT_TRUE(absl::EndsWith(LastLine(Lines()), "\"event\":\"bad_request\",\"suppressed\":16}"))
      << LastLine(Lines());

  // However long the silence, the burst stays the same.
  clock_.Advance(absl::Hours(1));
  for (int i = 0; i < 25; ++i) log.WriteLimited(LogLevel::kWarn, "bad_request");
  EXPECT_EQ(Lines().size(), 22u);
  // What is not limited is not.
  for (int i = 0; i < 25; ++i) log.Warn("bad_request");
  EXPECT_EQ(Lines().size(), 47u);
}

TEST_F(LogTest, ReportsAtItsEndWhatItSuppressed) {
  {
    Log log(clock_, Options());
    for (int i = 0; i < 13; ++i) log.WriteLimited(LogLevel::kWarn, "bad_request");
    log.WriteLimited(LogLevel::kWarn, "quiet");
  }
  EXPECT_EQ(Lines().size(), 12u);
  EXPECT_TRUE(absl::EndsWith(
      LastLine(Lines()),
      "\"level\":\"warn\",\"event\":\"suppressed\",\"of\":\"bad_request\",\"suppressed\":3}"))
      << LastLine(Lines());
}

TEST_F(LogTest, KeepsLinesOfThreadsApart) {
  constexpr int kThreads = 8;
  constexpr int kLines = 200;
  Log log(clock_, Options());
  const std::string filler(500, 'f');
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kLines; ++i) log.Info("e", {{"filler", filler}});
      for (int i = 0; i < kLines; ++i) log.WriteLimited(LogLevel::kInfo, "limited");
    });
  }
  for (std::thread& thread : threads) thread.join();
  int whole = 0;
  for (const std::string& line : Lines()) {
    if (absl::StrContains(line, "limited")) continue;
    EXPECT_TRUE(absl::StartsWith(line, "{\"time\":") &&
                absl::EndsWith(line, "\"filler\":\"" + filler + "\"}"))
        << line;
    ++whole;
  }
  EXPECT_EQ(whole, kThreads * kLines);
}

TEST(KeyHash, IsTheSameForTheSameKeyAndShort) {
  // The first digits of SHA-256("abc"), FIPS 180-4.
  EXPECT_EQ(KeyHash("abc"), "ba7816bf8f01");
  EXPECT_NE(KeyHash("abd"), KeyHash("abc"));
}

struct JsonRow {
  const char* name;
  std::string text;
  const char* want;
};

TEST(AppendJsonString, TakesAnyBytes) {
  const JsonRow rows[] = {
      {"plain", "abc", "\"abc\""},
      {"empty", "", "\"\""},
      {"nul", std::string("a\0b", 3), "\"a\\u0000b\""},
      {"controls", "\t\r\x1f\x7f", "\"\\u0009\\u000d\\u001f\\u007f\""},
      {"c1", "\xc2\x80\xc2\x9f\xc2\xa0", "\"\\u0080\\u009f\xc2\xa0\""},
      {"two", "\xc3\xa9", "\"\xc3\xa9\""},
      {"three", "\xe2\x82\xac", "\"\xe2\x82\xac\""},
      {"four", "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
      {"last", "\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},
      {"above", "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
      {"overlong", "\xc0\xaf", "\"\\ufffd\\ufffd\""},
      {"overlong_three", "\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\""},
      {"surrogate", "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
      {"cut_short", "\xe2\x82", "\"\\ufffd\\ufffd\""},
      {"lone_tail", "\x80", "\"\\ufffd\""},
      {"then_text", "\xe2x", "\"\\ufffdx\""},
      {"five", "\xf8\x88\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\""},
  };
  for (const JsonRow& row : rows) {
    std::string out;
    AppendJsonString(row.text, out);
    EXPECT_EQ(out, row.want) << row.name;
  }
}

}  // namespace
}  // namespace onced
