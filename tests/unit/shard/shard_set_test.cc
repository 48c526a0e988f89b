// Many threads in front of many shards.
#include "server/shard/shard_set.h"

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/storage/memory/memory_store.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"
#include "tests/unit/shard/counting_telemetry.h"
#include "tests/unit/shard/seeded_random.h"
#include "tests/unit/shard/threads.h"

namespace onced::shard_test {
namespace {

constexpr std::size_t kThreads = 4;

class ShardSetTest : public testing::Test {
 protected:
  ShardSetTest() {
    SeededRandom seed(1);
    store_ = *MemoryStore::Open(disk_, {.shards = 8, .wall_now = clock_.Now(), .random = seed});
    Start({.executors = 3});
  }
  void Start(const ShardSet::Options& options) {
    set_.reset();
    set_ = std::make_unique<ShardSet>(options, *store_, clock_, telemetry_);
  }

  Request Make(std::size_t number, const std::string& key, Operation operation) {
    return {.key = {"ns", key},
            .operation = std::move(operation),
            .policy = &policy_,
            .answer = answers_.Expect(number)};
  }
  ShardSet::Ticket Submit(std::size_t number, const std::string& key, Operation operation) {
    return set_->Submit(Make(number, key, std::move(operation)));
  }
  static ReserveOp Reserve(std::size_t number, absl::Duration wait = {}) {
    return {
        .request_id = std::to_string(number), .lease_ttl = absl::Minutes(5), .wait_timeout = wait};
  }
  Token Hold(std::size_t number, const std::string& key) {
    Submit(number, key, Reserve(number));
    return std::get<Fresh>(answers_.Of(number)).token;
  }
  // Runs `work(t)` on kThreads threads at once, and waits for them.
  template <typename Work>
  void OnThreads(Work work) {
    Gate start;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        start.Wait();
        work(t);
      });
    }
    start.Open();
    for (std::thread& thread : threads) thread.join();
  }

  Policy policy_;
  Answers answers_;
  CountingTelemetry telemetry_;
  SystemClock clock_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> store_;
  std::unique_ptr<ShardSet> set_;
};

TEST_F(ShardSetTest, HasAtLeastOneExecutorAndAtMostOneAShard) {
  const std::pair<std::size_t, std::size_t> cases[] = {{0, 1}, {1, 1}, {3, 3}, {8, 8}, {99, 8}};
  for (const auto& [asked, got] : cases) {
    Start({.executors = asked});
    EXPECT_EQ(set_->executor_count(), got);
  }
}

TEST_F(ShardSetTest, AThousandConcurrentReservesOfAKeyHaveOneWinner) {
  constexpr std::size_t kEach = 250;
  OnThreads([&](std::size_t t) {
    for (std::size_t i = 0; i < kEach; ++i) {
      Submit(t * kEach + i, "key", Reserve(t * kEach + i));
    }
  });
  answers_.WaitForCount(kThreads * kEach);
  EXPECT_EQ(answers_.CountOf<Fresh>(), 1u);
  EXPECT_EQ(answers_.CountOf<Conflict>(), kThreads * kEach - 1);
  EXPECT_TRUE(answers_.EachExactlyOnce());
}

TEST_F(ShardSetTest, ACommitWakesTheWaitersOfAllThreads) {
  constexpr std::size_t kEach = 50;
  const Token token = Hold(0, "key");
  OnThreads([&](std::size_t t) {
    for (std::size_t i = 0; i < kEach; ++i) {
      const std::size_t number = 1 + t * kEach + i;
      Submit(number, "key", Reserve(number, absl::Seconds(60)));
    }
  });
  const std::size_t last = 1 + kThreads * kEach;
  Submit(last, "key", InspectOp{});
  answers_.Of(last);  // All are parked by now.
  EXPECT_EQ(set_->waiters(), kThreads * kEach);
  Submit(last + 1, "key", CommitOp{.token = token});
  answers_.WaitForCount(last + 2);
  EXPECT_EQ(answers_.CountOf<Replayed>(), kThreads * kEach);
  EXPECT_EQ(set_->waiters(), 0u);
  EXPECT_TRUE(answers_.EachExactlyOnce());
}

TEST_F(ShardSetTest, AReleaseIsGivenToOneOfManyWaiters) {
  const Token token = Hold(0, "key");
  OnThreads([&](std::size_t t) { Submit(1 + t, "key", Reserve(1 + t, absl::Seconds(60))); });
  Submit(1 + kThreads, "key", ReleaseOp{token});
  Submit(2 + kThreads, "key", InspectOp{});
  answers_.Of(2 + kThreads);
  EXPECT_EQ(answers_.CountOf<Fresh>(), 2u);
  EXPECT_EQ(set_->waiters(), kThreads - 1);
}

TEST_F(ShardSetTest, GivesTicketsForThoseThatMayWait) {
  const Token token = Hold(0, "key");
  std::vector<Request> requests;
  requests.push_back(Make(1, "other", Reserve(1)));
  requests.push_back(Make(2, "key", Reserve(2, absl::Seconds(60))));
  requests.push_back(Make(3, "key", InspectOp{}));
  requests.push_back(Make(4, "key", Reserve(4, absl::Seconds(60))));
  const std::vector<ShardSet::Ticket> tickets = set_->Submit(std::move(requests));
  ASSERT_EQ(tickets.size(), 2u);
  answers_.Of(3);
  set_->Cancel(tickets[0]);
  const Reply cancelled = answers_.Of(2);
  ASSERT_TRUE(std::holds_alternative<Refused>(cancelled));
  EXPECT_EQ(std::get<Refused>(cancelled).reason, Refusal::kCancelled);
  Submit(5, "key", ReleaseOp{token});
  EXPECT_TRUE(std::holds_alternative<Fresh>(answers_.Of(4)));
}

TEST_F(ShardSetTest, KeepsTheOrderOfAThreadsOperationsOnAKey) {
  constexpr std::size_t kEach = 300;
  OnThreads([&](std::size_t t) {
    for (std::size_t i = 0; i < kEach; ++i) {
      const std::size_t number = t * kEach + i;
      const std::string key = std::to_string(t);
      if (i % 3 == 0) {
        Submit(number, key, InspectOp{});
      } else {
        std::vector<Request> one;
        one.push_back(
            Make(number, key, i % 3 == 1 ? Operation(ReleaseOp{}) : Operation(Reserve(number))));
        set_->Submit(std::move(one));
      }
    }
  });
  answers_.WaitForCount(kThreads * kEach);
  std::vector<std::size_t> next(kThreads);
  for (const std::size_t number : answers_.order()) {
    EXPECT_EQ(number % kEach, next[number / kEach]++);
  }
}

TEST_F(ShardSetTest, ABatchGoesToEveryShard) {
  std::vector<Request> batch;
  for (std::size_t i = 0; i < 500; ++i) batch.push_back(Make(i, std::to_string(i), Reserve(i)));
  set_->Submit(std::move(batch));
  answers_.WaitForCount(500);
  EXPECT_EQ(answers_.CountOf<Fresh>(), 500u);
  EXPECT_EQ(store_->EstimateKeys(), 500u);
  for (std::size_t i = 0; i < set_->executor_count(); ++i) EXPECT_EQ(set_->queue_depth(i), 0u);
}

// Where a key is found doesn't depend on how many threads there are.
TEST_F(ShardSetTest, AnotherNumberOfExecutorsFindsTheSameRecords) {
  for (std::size_t i = 0; i < 50; ++i) Hold(i, std::to_string(i));
  Start({.executors = 2});
  for (std::size_t i = 0; i < 50; ++i) {
    Submit(50 + i, std::to_string(i), InspectOp{});
    EXPECT_EQ(std::get<Inspected>(answers_.Of(50 + i)).state, State::kPending);
  }
}

TEST_F(ShardSetTest, ATicketCancelsItsOwnRequest) {
  const Token token = Hold(0, "key");
  const ShardSet::Ticket first = Submit(1, "key", Reserve(1, absl::Seconds(60)));
  Submit(2, "key", Reserve(2, absl::Seconds(60)));
  set_->Cancel(first);
  EXPECT_EQ(std::get<Refused>(answers_.Of(1)).reason, Refusal::kCancelled);
  Submit(3, "key", ReleaseOp{token});
  EXPECT_TRUE(std::holds_alternative<Fresh>(answers_.Of(2)));
}

TEST_F(ShardSetTest, DrainingAnswersTheParkedOfEveryShard) {
  for (std::size_t i = 0; i < 40; ++i) {
    Hold(i, std::to_string(i));
    Submit(40 + i, std::to_string(i), Reserve(40 + i, absl::Seconds(60)));
  }
  set_->StartDraining();
  answers_.WaitForCount(80);
  EXPECT_EQ(answers_.CountOf<Refused>(), 40u);
}

// Everything at once: whatever happens in between, each request has one answer.
class Hammer : public ShardSetTest, public testing::WithParamInterface<bool> {};

TEST_P(Hammer, AnswersEveryRequestExactlyOnce) {
  constexpr std::size_t kEach = 300;
  const bool drains = GetParam();
  std::atomic<std::size_t> submitted{0};
  Start({.executors = 3, .limits = {.queue_max = 40, .settle_queue_max = 20}});
  const Token holder = Hold(kThreads * kEach, "0");
  OnThreads([&](std::size_t t) {
    std::mt19937_64 random(t);
    std::vector<ShardSet::Ticket> tickets;
    for (std::size_t i = 0; i < kEach; ++i) {
      const std::size_t number = t * kEach + i;
      const std::string key = std::to_string(random() % 4);
      const absl::Duration wait = absl::Milliseconds(random() % 2 * (1 + random() % 30'000));
      Operation operation = InspectOp{};
      if (random() % 3 != 0) operation = Reserve(number, wait);
      if (random() % 10 == 0) operation = ReleaseOp{holder};
      if (random() % 10 == 0) operation = CommitOp{.token = holder};
      tickets.push_back(Submit(number, key, std::move(operation)));
      if (random() % 3 == 0) set_->Cancel(tickets[random() % tickets.size()]);
      if (++submitted == kThreads * kEach / 2 && drains) set_->StartDraining();
    }
  });
  set_.reset();
  EXPECT_EQ(answers_.count(), kThreads * kEach + 1);
  EXPECT_TRUE(answers_.EachExactlyOnce());
}
INSTANTIATE_TEST_SUITE_P(, Hammer, testing::Bool(), [](const auto& row) {
  return row.param ? "WhileDraining" : "UntilTheEnd";
});

}  // namespace
}  // namespace onced::shard_test
