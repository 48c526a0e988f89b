// What a session may do next: its bounds, and its end.
#include "server/rpc/session_flow.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace onced {
namespace {

using Step = SessionFlow::Step;
using session_limits::kMessagesMax;
using session_limits::kOperationsMax;
using session_limits::kRequestBytesMax;
using session_limits::kUnsentBytesMax;
using session_limits::kUnsentBytesPause;

constexpr SessionLoad kSmall{.messages = 1, .operations = 1, .bytes = 10};

// The steps that there are for one who enters and has nothing to tell.
std::vector<Step> Steps(SessionFlow& flow) {
  std::vector<Step> steps;
  if (!flow.Enter()) return steps;
  for (;;) {
    const Step step = flow.Next();
    if (step != Step::kNothing) steps.push_back(step);
    if (step == Step::kNothing || step == Step::kFinish) return steps;
  }
}

const std::vector<Step> kNothing;
const std::vector<Step> kRead = {Step::kRead};
const std::vector<Step> kWrite = {Step::kWrite};
const std::vector<Step> kFinish = {Step::kFinish};

// The outstanding read brought that.
void Took(SessionFlow& flow, const SessionLoad& load, bool waits = false) {
  flow.Began(load);
  if (waits) flow.Waits(load);
  flow.ReadHandled();
}

TEST(SessionFlow, ReadsOneAtATime) {
  SessionFlow flow;
  EXPECT_EQ(Steps(flow), kRead);
  EXPECT_EQ(Steps(flow), kNothing);
  Took(flow, kSmall);
  EXPECT_EQ(Steps(flow), kRead);
}

TEST(SessionFlow, WritesOneAtATime) {
  SessionFlow flow;
  flow.Began(kSmall);
  flow.Began(kSmall);
  EXPECT_EQ(Steps(flow), kRead);
  flow.Answered(kSmall, false, 100);
  flow.Answered(kSmall, false, 100);
  EXPECT_EQ(Steps(flow), kWrite);
  EXPECT_EQ(Steps(flow), kNothing);
  flow.Wrote(kSmall, 100);
  EXPECT_EQ(Steps(flow), kWrite);
  flow.Wrote(kSmall, 100);
  EXPECT_EQ(Steps(flow), kNothing);
}

struct Bound {
  const char* name;
  SessionLoad each;
  std::size_t most;  // How many of them are read.
};
const Bound kBounds[] = {
    {"messages", kSmall, kMessagesMax},
    {"operations", {.messages = 1, .operations = kOperationsMax / 4, .bytes = 10}, 4},
    {"operations_and_one_more", {.messages = 1, .operations = kOperationsMax / 4 - 1}, 5},
    {"bytes", {.messages = 1, .operations = 1, .bytes = kRequestBytesMax / 2}, 2},
    {"bytes_and_one_more", {.messages = 1, .operations = 1, .bytes = kRequestBytesMax / 2 - 1}, 3},
};

TEST(SessionFlow, ReadsNoMoreThanItsBounds) {
  for (const Bound& bound : kBounds) {
    SessionFlow flow;
    for (std::size_t i = 0; i < bound.most; ++i) {
      ASSERT_EQ(Steps(flow), kRead) << bound.name << " " << i;
      Took(flow, bound.each);
    }
    EXPECT_EQ(Steps(flow), kNothing) << bound.name;
    flow.Answered(bound.each, false, 100);
    EXPECT_EQ(Steps(flow), kWrite) << bound.name << ": it is answered, but not sent";
    flow.Wrote(bound.each, 100);
    EXPECT_EQ(Steps(flow), kRead) << bound.name;
  }
}

TEST(SessionFlow, ReadsNoMoreWhileTooMuchIsUnsent) {
  SessionFlow flow;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Steps(flow), kRead);
    Took(flow, kSmall);
  }
  flow.Answered(kSmall, false, kUnsentBytesPause - 1);
  EXPECT_EQ(Steps(flow), (std::vector<Step>{Step::kWrite, Step::kRead}));
  flow.Answered(kSmall, false, 1);
  Took(flow, kSmall);
  EXPECT_EQ(Steps(flow), kNothing);
  flow.Wrote(kSmall, kUnsentBytesPause - 1);
  EXPECT_EQ(Steps(flow), (std::vector<Step>{Step::kWrite, Step::kRead}));
}

TEST(SessionFlow, ResultsHaveWhatTheUnsentLeaveThem) {
  SessionFlow flow;
  EXPECT_EQ(flow.LargeBytesMax(), kUnsentBytesMax);
  flow.Began(kSmall);
  flow.Began(kSmall);
  flow.Answered(kSmall, false, kUnsentBytesMax - 5);
  EXPECT_EQ(flow.LargeBytesMax(), 5u);
  flow.Answered(kSmall, false, 6);
  EXPECT_EQ(flow.LargeBytesMax(), 0u);
  flow.Wrote(kSmall, kUnsentBytesMax - 5);
  EXPECT_EQ(flow.LargeBytesMax(), kUnsentBytesMax - 6);
}

TEST(SessionFlow, WaitingMessagesTakeAtMostHalf) {
  for (const Bound& bound : kBounds) {
    SessionFlow flow;
    std::size_t waiting = 0;
    while (flow.MayWait(bound.each)) {
      flow.Began(bound.each);
      flow.Waits(bound.each);
      ++waiting;
    }
    EXPECT_EQ(waiting, bound.each.operations == 1 && bound.each.bytes == 10 ? kMessagesMax / 2
                       : bound.each.operations > 1                          ? 2u
                                                                            : 1u)
        << bound.name;
    EXPECT_EQ(Steps(flow), kRead) << bound.name << ": a Commit gets through";
    flow.Answered(bound.each, true, 100);
    EXPECT_TRUE(flow.MayWait(bound.each)) << bound.name;
    flow.Began(bound.each);
    flow.Answered(bound.each, false, 100);
    EXPECT_TRUE(flow.MayWait(bound.each)) << "one that did not wait takes none of it";
  }
}

// ---- The end ----

TEST(SessionFlow, ASessionOfNothingFinishesOnceItIsStopped) {
  SessionFlow flow;
  EXPECT_EQ(Steps(flow), kRead);
  flow.Stop();
  EXPECT_EQ(Steps(flow), kFinish) << "a read may be on its way";
  EXPECT_FALSE(flow.Enter());
  EXPECT_EQ(Steps(flow), kNothing);
}

TEST(SessionFlow, AStoppedOneAnswersWhatItHasRead) {
  SessionFlow flow;
  EXPECT_EQ(Steps(flow), kRead);
  Took(flow, kSmall);
  flow.Stop();
  EXPECT_EQ(Steps(flow), kNothing);
  flow.Answered(kSmall, false, 100);
  EXPECT_EQ(Steps(flow), kWrite);
  EXPECT_EQ(Steps(flow), kNothing);
  flow.Wrote(kSmall, 100);
  EXPECT_EQ(Steps(flow), kFinish);
}

TEST(SessionFlow, AnAbandonedOneWritesNothingMoreButWaitsForWhatIsExecuted) {
  SessionFlow flow;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Steps(flow), kRead);
    Took(flow, kSmall);
  }
  flow.Answered(kSmall, false, 100);
  flow.Answered(kSmall, false, 100);
  EXPECT_EQ(Steps(flow), (std::vector<Step>{Step::kWrite, Step::kRead}));
  flow.Abandon();
  EXPECT_EQ(Steps(flow), kNothing) << "a write is on its way, and one message is executed";
  flow.Wrote(kSmall, 100);
  EXPECT_EQ(Steps(flow), kNothing);
  flow.Answered(kSmall, false, 100);
  EXPECT_EQ(Steps(flow), kFinish) << "two answers are not sent";
}

TEST(SessionFlow, TheLastOneInsideFinishes) {
  SessionFlow flow;
  EXPECT_EQ(Steps(flow), kRead);
  ASSERT_TRUE(flow.Enter());
  flow.Stop();
  EXPECT_EQ(Steps(flow), kNothing);
  EXPECT_EQ(flow.Next(), Step::kFinish);
}

// ---- In any order ----

std::uint64_t Seed() {
  const char* given = std::getenv("ONCED_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("ONCED_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// A session whose reads, executions, writes, and threads inside go on in any order.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    EXPECT_TRUE(flow_.Enter());
    inside_ = 1;
  }

  void Run() {
    for (int i = 0; i < 3'000 && !finished_; ++i) {
      Do();
      Check();
    }
    ending_ = true;
    for (int i = 0; i < 100'000 && !finished_; ++i) {
      Do();
      Check();
    }
    EXPECT_TRUE(finished_) << "it would hang";
    EXPECT_TRUE(executing_.empty());
    EXPECT_EQ(inside_, 0);
    EXPECT_FALSE(flow_.Enter());
  }

 private:
  struct Message {
    SessionLoad load;
    bool waits;
    std::size_t bytes;
  };

  std::size_t Draw(std::size_t below) { return random_() % below; }

  void Do() {
    switch (Draw(ending_ ? 6 : 7)) {
      case 0:
      case 1:
        return Next();
      case 2:
        return ReadEnds();
      case 3:
        return Execute();
      case 4:
        return WriteEnds();
      case 5:
        if (!ending_ && Draw(500) > 0) return;
        return End();
      case 6:
        if (inside_ < 4 && flow_.Enter()) ++inside_;
        return;
    }
  }

  void Next() {
    if (inside_ == 0) return;
    switch (flow_.Next()) {
      case Step::kRead:
        EXPECT_FALSE(reading_);
        EXPECT_FALSE(flow_.stopped());
        reading_ = true;
        return;
      case Step::kWrite:
        EXPECT_FALSE(writing_);
        ASSERT_FALSE(unsent_.empty());
        writing_ = true;
        return;
      case Step::kFinish:
        EXPECT_FALSE(finished_);
        finished_ = true;
        [[fallthrough]];
      case Step::kNothing:
        --inside_;
    }
  }
  void ReadEnds() {
    if (!reading_ || !flow_.Enter()) return;
    ++inside_;
    reading_ = false;
    if (!flow_.stopped()) {
      const std::size_t operations = 1 + (Draw(2) == 0 ? 0 : Draw(limits::kBatchOperationsMax));
      const std::size_t bytes = Draw(3) == 0 ? Draw(limits::kMessageBytesMax) : 100 * operations;
      Message message{{1, operations, bytes}, false, Draw(4) == 0 ? Draw(1 << 20) : 100};
      message.waits = Draw(2) == 0 && flow_.MayWait(message.load);
      flow_.Began(message.load);
      if (message.waits) flow_.Waits(message.load);
      executing_.push_back(message);
    }
    flow_.ReadHandled();
  }
  // One that waits is done at the end only.
  void Execute() {
    if (executing_.empty()) return;
    const std::size_t at = Draw(executing_.size());
    const Message message = executing_[at];
    if (message.waits && !ending_ && Draw(100) > 0) return;
    ASSERT_TRUE(flow_.Enter());
    ++inside_;
    executing_.erase(executing_.begin() + static_cast<std::ptrdiff_t>(at));
    flow_.Answered(message.load, message.waits, message.bytes);
    unsent_.push_back(message);
  }
  void WriteEnds() {
    if (!writing_) return;
    ASSERT_TRUE(flow_.Enter());
    ++inside_;
    writing_ = false;
    flow_.Wrote(unsent_.front().load, unsent_.front().bytes);
    unsent_.pop_front();
    if (Draw(2'000) == 0) flow_.Abandon();
  }
  void End() {
    if (!flow_.Enter()) return;
    ++inside_;
    Draw(3) == 0 ? flow_.Abandon() : flow_.Stop();
  }

  void Check() {
    SessionLoad all;
    SessionLoad waiting;
    for (const Message& message : executing_) all += message.load;
    for (const Message& message : executing_) {
      if (message.waits) waiting += message.load;
    }
    for (const Message& message : unsent_) all += message.load;
    EXPECT_LE(all.messages, kMessagesMax);
    EXPECT_LT(all.operations, kOperationsMax + limits::kBatchOperationsMax);
    EXPECT_LT(all.bytes, kRequestBytesMax + limits::kMessageBytesMax);
    EXPECT_LE(waiting.messages, kMessagesMax / 2);
    EXPECT_LE(waiting.operations, kOperationsMax / 2);
    EXPECT_LE(waiting.bytes, kRequestBytesMax / 2);
    const bool idle = inside_ == 0 && !flow_.stopped() && executing_.size() == waiting.messages;
    if (idle && unsent_.empty()) {
      EXPECT_TRUE(reading_) << "those that wait block it";
    }
    if (inside_ == 0 && !unsent_.empty() && !flow_.abandoned()) {
      EXPECT_TRUE(writing_);
    }
  }

  std::mt19937_64 random_;
  SessionFlow flow_;
  std::vector<Message> executing_;
  std::deque<Message> unsent_;
  int inside_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool ending_ = false;
  bool finished_ = false;
};

TEST(SessionFlow, NeitherHangsNorExceedsItsBoundsInAnyOrder) {
  const std::uint64_t seed = Seed();
  for (std::uint64_t i = 0; i < 300 && !testing::Test::HasFailure(); ++i) World(seed + i).Run();
}

}  // namespace
}  // namespace onced
