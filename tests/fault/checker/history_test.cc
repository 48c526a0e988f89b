#include "tests/fault/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace onced::fault {
namespace {

using testing::HasSubstr;

// Every field is set, and the texts hold what has to be escaped.
Recording FullRun() {
  Call call{.sent = 2,
            .client = 3,
            .op = Op::kExtend,
            .key = "ns/k \"quoted\" \\ = \n",
            .request_id = "r",
            .fingerprint = std::string("\0\xff", 2),
            .owner = "o=1 p=2",
            .token = "t",
            .result = "200/0/0/1",
            .checkpoint = "\x01\x61",
            .has_checkpoint = true,
            .ttl = 7,
            .after = 0,
            .answered = 3};
  call.answer = {.status = Status::kOk,
                 .said = Said::kNotReserved,
                 .reason = "NOT RESERVED",
                 .state = State::kLapsed,
                 .token = "u",
                 .fence = INT64_MAX,
                 .attempt = 2,
                 .owner = "w",
                 .result = "r",
                 .checkpoint = "c",
                 .server_time = 5,
                 .lease_end = 6,
                 .commit_time = 7,
                 .expire_time = 8,
                 .already = true,
                 .late = true,
                 .previous_fence = -1,
                 .previous_owner = "x"};
  return {.seed = UINT64_MAX,
          .calls = {call, {.id = 1, .sent = 4, .key = "ns/l"}},
          .lives = {{.up = 1, .down = 5}, {.up = 6}}};
}

TEST(HistoryText, IsReadBackAsItWas) {
  const Recording run = FullRun();
  EXPECT_EQ(FromText(ToText(run)), run) << ToText(run);
}

TEST(HistoryText, IsOneLineForEachEventInTheirOrder) {
  EXPECT_THAT(ToText(FullRun()),
              testing::MatchesRegex("seed [^\n]*\nup 1[^\n]*\nsent 2[^\n]*\n"
                                    "answered 3[^\n]*\nsent 4[^\n]*\ndown 5\nup 6\n"));
}

TEST(HistoryText, WhatIsNoHistoryIsRefusedWithItsLine) {
  for (const char* line :
       {"up", "up x", "sit 1", "down 1", "answered 1 id=0", "sent 1 id=0 op=Guess", "sent 1 id=1",
        "sent 1 id=0 key=\"open", "sent 1 id=0 color=\"red\"", "sent 1 id=0 ttl=7x"}) {
    try {
      FromText(line);
      ADD_FAILURE() << "accepted: " << line;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(line));
    }
  }
}

TEST(History, GivesPositionsInTheOrderOfEvents) {
  History history(7);
  history.ServerUp();
  const std::uint64_t first = history.Sent({.key = "a/1"});
  const std::uint64_t second = history.Sent({.key = "a/2"});
  history.Answered(second, {.status = Status::kOk});
  history.ServerUp();  // Twice: nothing new.
  history.ServerDown();
  history.ServerDown();
  history.Answered(first, {.status = Status::kUnknown});
  const Recording run = history.Copy();
  EXPECT_EQ(run.seed, 7U);
  EXPECT_EQ(run.lives, (std::vector<Life>{{.up = 1, .down = 5}}));
  EXPECT_EQ(run.calls[0].sent, 2U);
  EXPECT_EQ(run.calls[0].answered, 6U);
  EXPECT_EQ(run.calls[1].answered, 4U);
  EXPECT_EQ(history.answered(), 1U);
}

TEST(Digest, TellsResultsApart) {
  const std::string body = "body";
  EXPECT_EQ(Digest(200, {{"a", "b"}}, body), Digest(200, {{"a", "b"}}, body));
  EXPECT_NE(Digest(200, {{"a", "b"}}, body), Digest(201, {{"a", "b"}}, body));
  EXPECT_NE(Digest(200, {{"a", "b"}}, body), Digest(200, {{"ab", ""}}, body));
  EXPECT_NE(Digest(200, {{"a", "b"}, {"c", "d"}}, body),
            Digest(200, {{"c", "d"}, {"a", "b"}}, body));
  EXPECT_NE(Digest(200, {}, "body"), Digest(200, {}, "bodz"));
}

}  // namespace
}  // namespace onced::fault
