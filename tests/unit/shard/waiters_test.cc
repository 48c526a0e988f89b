// The queues of parked calls and their timers, without a shard.
#include "server/shard/waiters.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const absl::Time kStart = TestStart();

class WaitersTest : public testing::Test {
 protected:
  // Times are in seconds from the start.
  Waiter Make(std::uint64_t id, const std::string& key, int wait_until) {
    Request request{.key = {name_space_, key},
                    .operation = ReserveOp{},
                    .policy = &policy_,
                    .answer = [](Answer) {},
                    .id = {id}};
    return {std::move(request), kStart, kStart + absl::Seconds(wait_until)};
  }
  bool Park(std::uint64_t id, const std::string& key = "key", int wait_until = 60,
            int lease_end = 100) {
    Waiter waiter = Make(id, key, wait_until);
    return waiters_.Park(waiter, kStart + absl::Seconds(lease_end));
  }
  static std::vector<std::uint64_t> Ids(const std::vector<RequestId>& ids) {
    std::vector<std::uint64_t> values;
    for (const RequestId id : ids) values.push_back(id.value);
    return values;
  }
  std::vector<std::uint64_t> Of(const std::string& key) {
    return Ids(waiters_.Of({name_space_, key}));
  }
  std::vector<std::uint64_t> OverAt(int seconds) {
    return Ids(waiters_.Over(kStart + absl::Seconds(seconds)));
  }
  std::vector<std::string> LapsedAt(int seconds) {
    std::vector<std::string> keys;
    for (const RecordKey& key : waiters_.Lapsed(kStart + absl::Seconds(seconds))) {
      keys.push_back(key.key);
    }
    return keys;
  }
  int NextTimer() {
    if (waiters_.NextTimer() == absl::InfiniteFuture()) return -1;
    return static_cast<int>(absl::ToInt64Seconds(waiters_.NextTimer() - kStart));
  }

  std::string name_space_ = "ns";
  Policy policy_;
  WaiterCount count_;
  Waiters waiters_{count_};
};

TEST_F(WaitersTest, KeepTheOrderInWhichTheyCame) {
  for (const std::uint64_t id : {5, 3, 9, 1}) ASSERT_TRUE(Park(id));
  EXPECT_THAT(Of("key"), ElementsAre(5, 3, 9, 1));
  waiters_.Take({3});
  EXPECT_THAT(Of("key"), ElementsAre(5, 9, 1));
  ASSERT_TRUE(Park(2));
  EXPECT_THAT(Of("key"), ElementsAre(5, 9, 1, 2));
  EXPECT_THAT(Ids(waiters_.All()), ElementsAre(1, 2, 5, 9));
}

TEST_F(WaitersTest, AreTakenOnce) {
  ASSERT_TRUE(Park(1));
  ASSERT_NE(waiters_.Find({1}), nullptr);
  const std::optional<Waiter> taken = waiters_.Take({1});
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->request.id, RequestId{1});
  EXPECT_EQ(waiters_.Take({1}), std::nullopt);
  EXPECT_EQ(waiters_.Find({1}), nullptr);
  EXPECT_FALSE(waiters_.Has({"ns", "key"}));
  EXPECT_THAT(Of("key"), IsEmpty());
  EXPECT_EQ(count_.total(), 0u);
  EXPECT_EQ(NextTimer(), -1);
}

TEST_F(WaitersTest, KeysAreTheNamespaceAndTheKey) {
  ASSERT_TRUE(Park(1, "k"));
  name_space_ = "n";
  ASSERT_TRUE(Park(2, "sk"));
  EXPECT_THAT(Of("sk"), ElementsAre(2));
  EXPECT_FALSE(waiters_.Has({"n", "k"}));
}

TEST_F(WaitersTest, TimersFromTheirVeryTimeOn) {
  ASSERT_TRUE(Park(1, "a", /*wait_until=*/10, /*lease_end=*/15));
  ASSERT_TRUE(Park(2, "a", /*wait_until=*/20, /*lease_end=*/15));
  ASSERT_TRUE(Park(3, "b", /*wait_until=*/30, /*lease_end=*/5));
  EXPECT_EQ(NextTimer(), 5);
  EXPECT_THAT(LapsedAt(4), IsEmpty());
  EXPECT_THAT(LapsedAt(5), ElementsAre("b"));
  EXPECT_THAT(LapsedAt(15), ElementsAre("b", "a"));
  EXPECT_THAT(OverAt(9), IsEmpty());
  EXPECT_THAT(OverAt(10), ElementsAre(1));
  EXPECT_THAT(OverAt(30), ElementsAre(1, 2, 3));
}

TEST_F(WaitersTest, TheLeaseTimerMovesAndGoesWithTheLast) {
  ASSERT_TRUE(Park(1, "a", 90, 10));
  ASSERT_TRUE(Park(2, "a", 80, 10));
  waiters_.SetLeaseEnd({"ns", "a"}, kStart + absl::Seconds(50));
  EXPECT_EQ(NextTimer(), 50);
  EXPECT_THAT(LapsedAt(49), IsEmpty());
  waiters_.SetLeaseEnd({"ns", "a"}, kStart + absl::Seconds(20));
  EXPECT_THAT(LapsedAt(20), ElementsAre("a"));
  waiters_.Take({1});
  EXPECT_EQ(NextTimer(), 20);
  waiters_.Take({2});
  EXPECT_EQ(NextTimer(), -1);
  waiters_.SetLeaseEnd({"ns", "a"}, kStart);  // Nobody waits: nothing to time.
  EXPECT_EQ(NextTimer(), -1);
  EXPECT_THAT(LapsedAt(1000), IsEmpty());
}

TEST_F(WaitersTest, ARefusedOneIsUntouched) {
  policy_.waiters_per_key_max = 1;
  ASSERT_TRUE(Park(1));
  Waiter waiter = Make(2, "key", 60);
  EXPECT_FALSE(waiters_.Park(waiter, kStart));
  EXPECT_EQ(waiter.request.id, RequestId{2});
  EXPECT_EQ(waiter.request.key, (RecordKey{"ns", "key"}));
  EXPECT_TRUE(static_cast<bool>(waiter.request.answer));
  EXPECT_EQ(count_.total(), 1u);
  EXPECT_THAT(Of("key"), ElementsAre(1));
}

TEST_F(WaitersTest, TheNamespaceCapLeavesNoTraceOfARefusedOne) {
  policy_.waiters_max = 1;
  ASSERT_TRUE(Park(1, "a"));
  EXPECT_FALSE(Park(2, "b"));
  EXPECT_FALSE(waiters_.Has({"ns", "b"}));
  EXPECT_EQ(NextTimer(), 60);
  waiters_.Take({1});
  EXPECT_TRUE(Park(2, "b"));
}

TEST_F(WaitersTest, TheCountIsSharedAndGivenBackAtTheEnd) {
  policy_.waiters_max = 2;
  ASSERT_TRUE(Park(1));
  {
    Waiters others(count_);
    Waiter second = Make(2, "key", 60), third = Make(3, "key", 60);
    EXPECT_TRUE(others.Park(second, kStart));
    EXPECT_FALSE(others.Park(third, kStart));
    EXPECT_EQ(count_.total(), 2u);
  }
  EXPECT_EQ(count_.total(), 1u);
}

TEST(WaiterCount, CountsByNamespace) {
  WaiterCount count;
  EXPECT_FALSE(count.TryAdd("a", 0));
  EXPECT_TRUE(count.TryAdd("a", 2));
  EXPECT_TRUE(count.TryAdd("a", 2));
  EXPECT_FALSE(count.TryAdd("a", 2));
  EXPECT_TRUE(count.TryAdd("b", 2));
  EXPECT_EQ(count.total(), 3u);
  count.Remove("a");
  EXPECT_TRUE(count.TryAdd("a", 2));
  count.Remove("b");
  EXPECT_EQ(count.total(), 2u);
}

// Against a model so plain that it can't be wrong.
TEST_F(WaitersTest, AgreeWithAListAfterAnyOperations) {
  struct Parked {
    std::uint64_t id;
    std::string key;
    int wait_until;
  };
  std::mt19937_64 random(1);
  std::vector<Parked> model;
  std::map<std::string, int> lease_ends;
  policy_.waiters_per_key_max = 4;
  policy_.waiters_max = 10;
  const auto in = [&](const std::string& key) {
    return std::count_if(model.begin(), model.end(), [&](const Parked& p) { return p.key == key; });
  };
  for (std::uint64_t id = 1; id < 5'000; ++id) {
    const std::string key(1, static_cast<char>('a' + random() % 4));
    const int time = static_cast<int>(random() % 50);
    switch (random() % 4) {
      case 0:
      case 1: {
        if (in(key) == 0) lease_ends[key] = time;
        const int wait_until = static_cast<int>(random() % 50);
        const bool room = in(key) < 4 && model.size() < 10;
        ASSERT_EQ(Park(id, key, wait_until, lease_ends[key]), room);
        if (room) model.push_back({id, key, wait_until});
        break;
      }
      case 2: {
        if (model.empty()) break;
        const auto at = model.begin() + static_cast<int>(random() % model.size());
        ASSERT_TRUE(waiters_.Take({at->id}).has_value());
        model.erase(at);
        break;
      }
      case 3:
        waiters_.SetLeaseEnd({"ns", key}, kStart + absl::Seconds(time));
        lease_ends[key] = time;
        break;
    }
    std::vector<std::uint64_t> of_key, over;
    int next = -1;
    const auto see = [&next](int timer) { next = next == -1 ? timer : std::min(next, timer); };
    std::vector<std::string> lapsed;
    for (const Parked& p : model) {
      if (p.key == key) of_key.push_back(p.id);
      if (p.wait_until <= time) over.push_back(p.id);
      see(p.wait_until);
      see(lease_ends[p.key]);
    }
    for (const auto& [k, end] : lease_ends) {
      if (in(k) > 0 && end <= time) lapsed.push_back(k);
    }
    ASSERT_EQ(Of(key), of_key);
    ASSERT_EQ(waiters_.Has({"ns", key}), !of_key.empty());
    ASSERT_THAT(OverAt(time), testing::UnorderedElementsAreArray(over));
    ASSERT_THAT(LapsedAt(time), testing::UnorderedElementsAreArray(lapsed));
    ASSERT_EQ(NextTimer(), next);
    ASSERT_EQ(count_.total(), model.size());
  }
}

}  // namespace
}  // namespace onced
