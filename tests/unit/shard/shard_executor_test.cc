// The thread and its mailbox. These tests use real threads and wait on events,
// never for a time; ThreadSanitizer runs them too.
#include "server/shard/shard_executor.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/storage/memory/memory_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/faulty_store.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"
#include "tests/unit/shard/counting_telemetry.h"
#include "tests/unit/shard/seeded_random.h"
#include "tests/unit/shard/threads.h"

namespace onced::shard_test {
namespace {

constexpr std::size_t kQueueMax = 5;
constexpr std::size_t kSettleMax = 3;

template <typename T>
bool Is(const Reply& reply) {
  return std::holds_alternative<T>(reply);
}
bool IsRefusal(const Reply& reply, Refusal reason) {
  return Is<Refused>(reply) && std::get<Refused>(reply).reason == reason;
}

// On a clock that stands still, but for what a test says.
class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() {
    SeededRandom seed(1);
    memory_ = *MemoryStore::Open(disk_, {.shards = 1, .wall_now = TestStart(), .random = seed});
    faulty_.emplace(*memory_);
    blocking_.emplace(*faulty_);
    group_ = std::make_unique<ShardGroup>(*blocking_, random_, waiter_count_, telemetry_);
  }
  void Start(const Clock& clock) {
    executor_.emplace(limits_, *group_, clock, *blocking_, telemetry_);
  }
  void Start() { Start(clock_); }

  Request Make(std::size_t number, Operation operation, const std::string& key = "key") {
    return {.key = {"ns", key},
            .operation = std::move(operation),
            .policy = &policy_,
            .answer = answers_.Expect(number),
            .id = {number + 1}};
  }
  void Submit(std::size_t number, Operation operation, const std::string& key = "key") {
    std::vector<Request> one;
    one.push_back(Make(number, std::move(operation), key));
    executor_->Submit(std::move(one));
  }
  static ReserveOp Reserve(const std::string& request_id, absl::Duration wait = {},
                           absl::Duration lease = absl::Hours(1)) {
    return {.request_id = request_id, .lease_ttl = lease, .wait_timeout = wait};
  }
  // Reserves, and is granted.
  Token Hold(std::size_t number, absl::Duration lease = absl::Hours(1)) {
    Submit(number, Reserve("holder", {}, lease));
    const Reply reply = answers_.Of(number);
    EXPECT_TRUE(Is<Fresh>(reply));
    return std::get<Fresh>(reply).token;
  }
  // When this returns, what was submitted before it has been executed.
  void Flush(std::size_t number) {
    Submit(number, InspectOp{}, "flush");
    answers_.Of(number);
  }
  // Likewise, and the thread sleeps: it asks the clock with its mailbox locked, and
  // lets go of that only when it does.
  void FlushToSleep(std::size_t number) {
    Request request = Make(number, InspectOp{}, "flush");
    request.answer = [this, answer = std::move(request.answer)](Answer reply) mutable {
      watched_clock_.Forget();
      std::move(answer)(std::move(reply));
    };
    std::vector<Request> one;
    one.push_back(std::move(request));
    executor_->Submit(std::move(one));
    answers_.Of(number);
    watched_clock_.WaitUntilAsked();
  }
  // Stops the thread in the store, with an empty mailbox.
  void BlockWith(std::size_t number) {
    blocking_->Block();
    Submit(number, InspectOp{}, "block");
    blocking_->WaitUntilBlocked();
  }
  void Stop() { executor_.reset(); }

  ShardExecutor::Limits limits_{.queue_max = kQueueMax,
                                .settle_queue_max = kSettleMax,
                                .patience = std::chrono::nanoseconds(0)};
  std::vector<std::size_t> slots_at_answer_;  // The executor's thread only.
  Policy policy_;
  Answers answers_;
  CountingTelemetry telemetry_;
  WaiterCount waiter_count_;
  FakeClock clock_{TestStart()};
  WatchedClock watched_clock_{clock_};
  const SystemClock system_clock_;
  SeededRandom random_{2};
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> memory_;
  std::optional<FaultyStore> faulty_;
  std::optional<BlockingStore> blocking_;
  std::unique_ptr<ShardGroup> group_;
  std::optional<ShardExecutor> executor_;
};

TEST_F(ExecutorTest, ExecutesInTheOrderOfSubmission) {
  Start();
  const Token token = Hold(0);
  BlockWith(1);
  Submit(2, Reserve("other"));
  Submit(3, CommitOp{.token = token});
  Submit(4, Reserve("other"));
  blocking_->LetGo();
  EXPECT_TRUE(Is<Conflict>(answers_.Of(2)));
  EXPECT_TRUE(Is<CommitDone>(answers_.Of(3)));
  EXPECT_TRUE(Is<Replayed>(answers_.Of(4)));
  EXPECT_EQ(answers_.order(), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST_F(ExecutorTest, DrainsItsWholeQueueAtOnce) {
  Start();
  BlockWith(0);
  for (std::size_t i = 1; i <= kQueueMax; ++i) Submit(i, Reserve("r"), std::to_string(i));
  blocking_->LetGo();
  answers_.WaitForCount(kQueueMax + 1);
  Stop();
  EXPECT_EQ(faulty_->writes(), 1);
  EXPECT_EQ(telemetry_.drains, 2u);
  EXPECT_EQ(telemetry_.drained, kQueueMax + 1);
}

TEST_F(ExecutorTest, RefusesAtOnceWhatTheQueueHasNoRoomFor) {
  Start();
  BlockWith(0);
  std::size_t number = 1;
  for (; number < 1 + kQueueMax; ++number) {
    Submit(number, number % 2 == 0 ? Operation(InspectOp{}) : Operation(Reserve("r")));
  }
  EXPECT_EQ(answers_.count(), 0u);
  EXPECT_EQ(executor_->queue_depth(), kQueueMax);
  Submit(number, Reserve("r"));  // On this very thread.
  EXPECT_EQ(answers_.count(), 1u);
  EXPECT_TRUE(IsRefusal(answers_.Of(number++), Refusal::kQueueFull));
  Submit(number, InspectOp{});
  EXPECT_TRUE(IsRefusal(answers_.Of(number++), Refusal::kQueueFull));

  const Operation settling[kSettleMax] = {CommitOp{}, ReleaseOp{}, ExtendOp{}};
  for (const Operation& operation : settling) Submit(number++, operation);
  EXPECT_EQ(answers_.count(), 2u);
  EXPECT_EQ(executor_->queue_depth(), kQueueMax + kSettleMax);
  for (const Operation& operation : settling) {
    Submit(number, operation);
    EXPECT_TRUE(IsRefusal(answers_.Of(number++), Refusal::kQueueFull));
  }
  blocking_->LetGo();
  answers_.WaitForCount(number);
  EXPECT_EQ(executor_->queue_depth(), 0u);
  Submit(number, Reserve("later"), "another");
  EXPECT_TRUE(Is<Fresh>(answers_.Of(number)));
  EXPECT_TRUE(answers_.EachExactlyOnce());
}

TEST_F(ExecutorTest, SettlingCallsDoNotTakeTheRoomOfOthers) {
  Start();
  BlockWith(0);
  std::size_t number = 1;
  for (std::size_t i = 0; i < kSettleMax; ++i) Submit(number++, ReleaseOp{});
  for (std::size_t i = 0; i < kQueueMax; ++i) Submit(number++, InspectOp{});
  EXPECT_EQ(answers_.count(), 0u);
  blocking_->LetGo();
  answers_.WaitForCount(number);
}

TEST_F(ExecutorTest, OfABatchTheFirstHaveRoom) {
  Start();
  BlockWith(0);
  std::vector<Request> batch;
  for (std::size_t i = 1; i <= kQueueMax + 2; ++i) batch.push_back(Make(i, InspectOp{}));
  executor_->Submit(std::move(batch));
  EXPECT_EQ(answers_.order(), (std::vector<std::size_t>{kQueueMax + 1, kQueueMax + 2}));
  blocking_->LetGo();
  answers_.WaitForCount(kQueueMax + 3);
  EXPECT_TRUE(answers_.EachExactlyOnce());
}

// ---- Rounds and shares ----

TEST_F(ExecutorTest, ARoundTakesNoMoreThanItsMost) {
  limits_.drain_max = 2;
  Start();
  BlockWith(0);
  for (std::size_t i = 1; i <= kQueueMax; ++i) Submit(i, Reserve("r"), std::to_string(i));
  blocking_->LetGo();
  answers_.WaitForCount(kQueueMax + 1);
  EXPECT_EQ(executor_->queue_depth(), 0u);
  Stop();
  EXPECT_EQ(telemetry_.drains, 1u + 3);
  EXPECT_EQ(telemetry_.drained, kQueueMax + 1);
  EXPECT_EQ(answers_.order(), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
}

// Of those that another round would take, too.
TEST_F(ExecutorTest, ACancelledCallIsGivenNothingInWhicheverRound) {
  limits_.drain_max = 1;
  Start();
  BlockWith(0);
  for (std::size_t i = 1; i <= 4; ++i) Submit(i, Reserve("r"), std::to_string(i));
  executor_->Cancel({3 + 1});
  executor_->Cancel({4 + 1});
  blocking_->LetGo();
  for (const std::size_t i : {1u, 2u}) EXPECT_TRUE(Is<Fresh>(answers_.Of(i))) << i;
  for (const std::size_t i : {3u, 4u}) {
    EXPECT_TRUE(IsRefusal(answers_.Of(i), Refusal::kCancelled)) << i;
  }
  // Its room is there again.
  BlockWith(5);
  for (std::size_t i = 6; i < 6 + kQueueMax; ++i) Submit(i, InspectOp{});
  EXPECT_EQ(executor_->queue_depth(), kQueueMax);
  blocking_->LetGo();
  answers_.WaitForCount(6 + kQueueMax);
  EXPECT_TRUE(answers_.EachExactlyOnce());
}

TEST_F(ExecutorTest, OneNamespaceDoesNotFillTheQueues) {
  limits_ = {.queue_max = 5, .settle_queue_max = 5, .namespace_parts = 2};
  Start();
  BlockWith(0);
  std::size_t number = 1;
  for (const Operation& operation : {Operation(InspectOp{}), Operation(ReleaseOp{})}) {
    for (int i = 0; i < 3; ++i) Submit(number++, operation);
    const std::size_t refused = answers_.count();
    Submit(number, operation);
    EXPECT_EQ(answers_.count(), refused + 1);
    EXPECT_TRUE(IsRefusal(answers_.Of(number++), Refusal::kQueueFull));
    // Two hashes may meet, a thousand don't.
    std::size_t taken = executor_->queue_depth();
    for (int i = 0; i < 1'000 && executor_->queue_depth() == taken; ++i) {
      std::vector<Request> other;
      other.push_back(Make(number++, operation));
      other.back().key.name_space = "other" + std::to_string(i);
      executor_->Submit(std::move(other));
    }
    EXPECT_EQ(executor_->queue_depth(), taken + 1);
  }
  blocking_->LetGo();
  answers_.WaitForCount(number);
  EXPECT_TRUE(answers_.EachExactlyOnce());
}

TEST_F(ExecutorTest, ANamespaceIsCrowdedUntilHalfOfItsPartIsFree) {
  limits_.queue_max = 8;
  limits_.namespace_parts = 2;
  limits_.drain_max = 2;
  Start();
  const std::string crowded = Make(0, InspectOp{}).key.name_space;
  BlockWith(0);
  std::size_t number = 1;
  for (int i = 0; i < 4; ++i) Submit(number++, InspectOp{});
  EXPECT_FALSE(executor_->crowded(crowded)) << "full, but nothing was refused";
  Submit(number, InspectOp{});
  EXPECT_TRUE(IsRefusal(answers_.Of(number++), Refusal::kQueueFull));
  EXPECT_TRUE(executor_->crowded(crowded));
  EXPECT_FALSE(executor_->crowded("another"));
  EXPECT_FALSE(executor_->crowded()) << "others have room";
  blocking_->LetGo();
  answers_.WaitForCount(number);
  EXPECT_FALSE(executor_->crowded(crowded));
}

TEST_F(ExecutorTest, WhileRequestsWaitTooLongNoNewWorkIsTaken) {
  limits_.queue_wait_max = absl::Milliseconds(500);
  Start();
  const Token token = Hold(0);
  BlockWith(1);
  Submit(2, InspectOp{});
  clock_.Advance(absl::Milliseconds(500));
  Submit(3, InspectOp{});  // Not longer than that.
  EXPECT_EQ(answers_.count(), 1u);
  clock_.Advance(absl::Milliseconds(1));
  Submit(4, Reserve("r"));
  Submit(5, InspectOp{});
  EXPECT_TRUE(IsRefusal(answers_.Of(4), Refusal::kQueueFull));
  EXPECT_TRUE(IsRefusal(answers_.Of(5), Refusal::kQueueFull));
  Submit(6, CommitOp{.token = token});
  EXPECT_EQ(answers_.count(), 3u);
  EXPECT_TRUE(executor_->crowded());
  blocking_->LetGo();
  EXPECT_TRUE(Is<CommitDone>(answers_.Of(6)));
  EXPECT_FALSE(executor_->crowded());
  Submit(7, InspectOp{});
  EXPECT_TRUE(Is<Inspected>(answers_.Of(7)));
}

TEST_F(ExecutorTest, WhatHasLessTimeThanOthersWaitIsNotTaken) {
  limits_.queue_wait_max = absl::Seconds(60);
  Start();
  BlockWith(0);
  Submit(1, InspectOp{});
  clock_.Advance(absl::Milliseconds(100));
  const auto submit = [&](std::size_t number, Operation operation, absl::Duration time) {
    std::vector<Request> one;
    one.push_back(Make(number, std::move(operation)));
    one.back().deadline = clock_.Now() + time;
    executor_->Submit(std::move(one));
  };
  submit(2, InspectOp{}, absl::Milliseconds(99));
  EXPECT_TRUE(IsRefusal(answers_.Of(2), Refusal::kQueueFull));
  submit(3, InspectOp{}, absl::Milliseconds(101));
  submit(4, ReleaseOp{}, absl::Milliseconds(99));
  EXPECT_EQ(answers_.count(), 1u);
  blocking_->LetGo();
  answers_.WaitForCount(5);
}

TEST_F(ExecutorTest, SaysWhichItHasRefused) {
  Start();
  BlockWith(0);
  std::vector<Request> many;
  for (std::size_t i = 1; i <= kQueueMax + 2; ++i) many.push_back(Make(i, InspectOp{}));
  EXPECT_EQ(executor_->Submit(std::move(many)),
            (std::vector<RequestId>{{kQueueMax + 2}, {kQueueMax + 3}}));
  blocking_->LetGo();
  answers_.WaitForCount(kQueueMax + 3);
}

// A namespace's concurrency: in flight is what is neither answered nor parked.
TEST_F(ExecutorTest, ASlotIsHeldUntilTheAnswerOrTheWait) {
  Start();
  const auto taken = std::make_shared<std::atomic<std::size_t>>(0);
  const auto submit = [&](std::size_t number, Operation operation, const std::string& key) {
    std::vector<Request> one;
    one.push_back(Make(number, std::move(operation), key));
    one.back().slot = ConcurrencySlot(taken);
    // By then it may ask again.
    one.back().answer = [&, answer = std::move(one.back().answer)](Answer reply) mutable {
      slots_at_answer_.push_back(taken->load());
      std::move(answer)(std::move(reply));
    };
    executor_->Submit(std::move(one));
  };
  Hold(0);
  BlockWith(1);
  submit(2, InspectOp{}, "other");
  EXPECT_EQ(taken->load(), 1u);
  blocking_->LetGo();
  answers_.Of(2);
  submit(3, Reserve("w", absl::Seconds(60)), "key");
  Flush(4);
  EXPECT_EQ(taken->load(), 0u) << "it is parked";
  executor_->Cancel({3 + 1});
  answers_.Of(3);
  Stop();
  EXPECT_EQ(taken->load(), 0u);
  EXPECT_EQ(slots_at_answer_, (std::vector<std::size_t>{0, 0}));
}

// ---- Cancelling ----

TEST_F(ExecutorTest, ACancelledWaiterIsAnsweredAtOnce) {
  Start(watched_clock_);
  const Token token = Hold(0);
  Submit(1, Reserve("w", absl::Seconds(60)));
  FlushToSleep(2);
  executor_->Cancel({1 + 1});
  EXPECT_TRUE(IsRefusal(answers_.Of(1), Refusal::kCancelled));
  Submit(3, ReleaseOp{token});
  Submit(4, InspectOp{});
  EXPECT_EQ(std::get<Inspected>(answers_.Of(4)).state, State::kAbsent);
}

TEST_F(ExecutorTest, ACancelledCallInTheMailboxIsGivenNothing) {
  Start();
  BlockWith(0);
  Submit(1, Reserve("w"));
  executor_->Cancel({1 + 1});
  blocking_->LetGo();
  EXPECT_TRUE(IsRefusal(answers_.Of(1), Refusal::kCancelled));
  Submit(2, InspectOp{});
  EXPECT_EQ(std::get<Inspected>(answers_.Of(2)).state, State::kAbsent);
}

// ---- Draining and the end ----

TEST_F(ExecutorTest, DrainingEndsTheWaitsAndRefusesReserves) {
  Start();
  const Token token = Hold(0);
  Submit(1, Reserve("w", absl::Seconds(60)));
  Flush(2);
  BlockWith(3);
  Submit(4, Reserve("accepted"), "another");
  executor_->StartDraining();
  Submit(5, Reserve("refused"), "another");
  EXPECT_TRUE(IsRefusal(answers_.Of(5), Refusal::kDraining));
  EXPECT_EQ(answers_.count(), 3u);
  blocking_->LetGo();
  EXPECT_TRUE(IsRefusal(answers_.Of(1), Refusal::kDraining));
  EXPECT_TRUE(IsRefusal(answers_.Of(4), Refusal::kDraining));
  Submit(6, ExtendOp{.token = token, .lease_ttl = absl::Hours(2)});
  EXPECT_TRUE(Is<ExtendDone>(answers_.Of(6)));
  Submit(7, CommitOp{.token = token});
  EXPECT_TRUE(Is<CommitDone>(answers_.Of(7)));
  Submit(8, InspectOp{});
  EXPECT_EQ(std::get<Inspected>(answers_.Of(8)).state, State::kCommitted);
}

// Nothing but the drain itself wakes the thread.
TEST_F(ExecutorTest, DrainingAnIdleExecutorAnswersTheParked) {
  Start(watched_clock_);
  Hold(0);
  Submit(1, Reserve("w", absl::Seconds(60)));
  FlushToSleep(2);
  executor_->StartDraining();
  executor_->StartDraining();
  EXPECT_TRUE(IsRefusal(answers_.Of(1), Refusal::kDraining));
}

TEST_F(ExecutorTest, TheDestructorExecutesWhatWasAcceptedAndEndsAllWaits) {
  Start();
  const Token token = Hold(0);
  Submit(1, Reserve("w", absl::Seconds(60)));
  Flush(2);
  BlockWith(3);
  Submit(4, ExtendOp{.token = token, .lease_ttl = absl::Hours(2)});
  blocking_->LetGo();
  Stop();
  EXPECT_EQ(answers_.count(), 5u);
  EXPECT_TRUE(Is<ExtendDone>(answers_.Of(4)));
  EXPECT_TRUE(IsRefusal(answers_.Of(1), Refusal::kDraining));
}

TEST_F(ExecutorTest, TheDestructorOfAnIdleExecutorEndsAllWaits) {
  Start(watched_clock_);
  Hold(0);
  Submit(1, Reserve("w", absl::Seconds(60)));
  FlushToSleep(2);
  Stop();
  ASSERT_EQ(answers_.count(), 3u);
  EXPECT_TRUE(IsRefusal(answers_.Of(1), Refusal::kDraining));
}

TEST_F(ExecutorTest, IsDestroyedAfterADrainToo) {
  Start();
  Hold(0);
  executor_->StartDraining();
  Flush(1);
  Stop();
  EXPECT_TRUE(answers_.EachExactlyOnce());
}

TEST_F(ExecutorTest, ItIsNoticedThatItHangs) {
  Start();
  Flush(0);
  BlockWith(1);
  executor_->Alive();  // Asks.
  EXPECT_FALSE(executor_->Alive());
  blocking_->LetGo();
  answers_.WaitForCount(2);
  // It comes by, and then whenever it is asked.
  while (!executor_->Alive()) std::this_thread::yield();
}

TEST_F(ExecutorTest, OneThatSleepsIsWokenToAnswer) {
  Start(watched_clock_);
  FlushToSleep(0);
  executor_->Alive();
  while (!executor_->Alive()) std::this_thread::yield();
}

// ---- Time ----

TEST_F(ExecutorTest, AWaitEndsByItself) {
  Start(system_clock_);
  Hold(0);
  Submit(1, Reserve("w", absl::Milliseconds(20)));
  EXPECT_TRUE(Is<Conflict>(answers_.Of(1)));
}

TEST_F(ExecutorTest, ALeaseLapsesByItself) {
  Start(system_clock_);
  Hold(0, absl::Milliseconds(100));
  Submit(1, Reserve("w", absl::Seconds(60)));
  EXPECT_TRUE(Is<Fresh>(answers_.Of(1)));
}

// A timer that is nearer than the one that the thread sleeps until.
TEST_F(ExecutorTest, ANearerTimerIsMet) {
  Start(system_clock_);
  Hold(0);
  Submit(1, Reserve("far", absl::Seconds(60)));
  Flush(2);
  Submit(3, Reserve("near", absl::Milliseconds(20)));
  EXPECT_TRUE(Is<Conflict>(answers_.Of(3)));
  EXPECT_EQ(answers_.count(), 3u);
}

TEST_F(ExecutorTest, ATimeThatCanNotBeMarkedRefusesAll) {
  Start();
  const Token token = Hold(0);
  Submit(1, Reserve("w", absl::Seconds(60)));
  Flush(2);
  const int writes = faulty_->writes();
  blocking_->FailMarks();
  clock_.Advance(absl::Seconds(5));
  Submit(3, CommitOp{.token = token});
  EXPECT_TRUE(IsRefusal(answers_.Of(3), Refusal::kStoreFailed));
  EXPECT_TRUE(IsRefusal(answers_.Of(1), Refusal::kStoreFailed));
  Submit(4, InspectOp{});
  EXPECT_TRUE(IsRefusal(answers_.Of(4), Refusal::kStoreFailed));
  Stop();
  EXPECT_EQ(faulty_->writes(), writes);
  EXPECT_GE(telemetry_.store_failures, 1u);
  EXPECT_TRUE(answers_.EachExactlyOnce());
}

TEST_F(ExecutorTest, NeverJudgesByATimeAboveTheMark) {
  Start();
  for (std::size_t i = 0; i < 20; ++i) {
    clock_.Advance(absl::Milliseconds(300));
    Submit(i, Reserve("r"), std::to_string(i));
    const Reply reply = answers_.Of(i);
    ASSERT_TRUE(Is<Fresh>(reply));
    EXPECT_LE(std::get<Fresh>(reply).lease_expire_time - absl::Hours(1), memory_->clock_mark());
  }
}

}  // namespace
}  // namespace onced::shard_test
