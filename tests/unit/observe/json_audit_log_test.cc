#include "server/observe/json_audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"

namespace onced {
namespace {

using testing::HasSubstr;
using testing::Not;

class AuditTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends_), 0); }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  std::string Line(const AuditEntry& entry, LogLevel level = LogLevel::kInfo) {
    Log log(clock_, {.level = level, .fd = ends_[1]});
    JsonAuditLog(log).Note(entry);
    char buffer[Log::kLineBytesMax];
    const ssize_t read_bytes = read(ends_[0], buffer, sizeof buffer);
    return read_bytes > 0 ? std::string(buffer, static_cast<std::size_t>(read_bytes)) : "";
  }

  const SystemClock clock_{};
  int ends_[2];
};

TEST_F(AuditTest, SaysWhoDidWhatAndWhatCameOfIt) {
  const std::string line = Line({.action = "Resolve",
                                 .identity = "token:ops",
                                 .name_space = "payments",
                                 .key = "order-4711",
                                 .fence = 30,
                                 .force = true,
                                 .comment = "the bank \"says\" so",
                                 .outcome = "committed"});
  EXPECT_THAT(line, HasSubstr(absl::StrCat(
                        R"("event":"audit","action":"Resolve","identity":"token:ops",)"
                        R"("outcome":"committed","namespace":"payments","key_hash":")",
                        KeyHash("order-4711"),
                        R"(","fence":30,"force":true,"comment":"the bank \"says\" so"})")));
  EXPECT_THAT(line, Not(HasSubstr("order-4711")));
}

TEST_F(AuditTest, LeavesOutWhatDoesNotApply) {
  EXPECT_THAT(Line({.action = "Backup", .identity = "", .reason = "NOT_ALLOWED"}),
              HasSubstr(R"("action":"Backup","identity":"","reason":"NOT_ALLOWED"})"));
  EXPECT_THAT(Line({.action = "EvictNamespace", .outcome = "page", .counts = {{"evicted", 7}}}),
              HasSubstr(R"("outcome":"page","evicted":7})"));
}

TEST_F(AuditTest, IsWrittenWhateverTheLevel) {
  EXPECT_THAT(Line({.action = "Backup"}, LogLevel::kError), HasSubstr("\"level\":\"info\""));
}

TEST_F(AuditTest, FitsIntoALineAtItsLongest) {
  const std::string line =
      Line({.action = "EvictNamespace",
            .identity = std::string(512, 'i'),
            .name_space = std::string(64, 'n'),
            .key = std::string(256, 'k'),
            .fence = INT64_MAX,
            .force = true,
            .comment = std::string(256, '\x01'),
            .reason = "OUTCOME_UNKNOWN",
            .counts = {{"evicted", INT64_MAX}, {"skipped_unreadable", INT64_MAX}}});
  EXPECT_THAT(line, Not(HasSubstr("truncated")));
}

}  // namespace
}  // namespace onced
