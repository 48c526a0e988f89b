#include "server/rpc/byte_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace onced {
namespace {

TEST(ByteBudget, WhatSettlesHasRoomOfItsOwn) {
  ByteBudget budget(100);
  ByteShare work(budget);
  EXPECT_TRUE(work.TryTake(75, BytesFor::kNewWork));
  EXPECT_FALSE(work.TryTake(1, BytesFor::kNewWork));
  ByteShare settling(budget);
  EXPECT_TRUE(settling.TryTake(25, BytesFor::kSettling));
  EXPECT_FALSE(settling.TryTake(1, BytesFor::kSettling));
  EXPECT_EQ(budget.used(), 100u);
  EXPECT_EQ(work.bytes(), 75u);
}

TEST(ByteBudget, SettlingIsNoRoomForNewWork) {
  ByteBudget budget(100);
  ByteShare settling(budget);
  EXPECT_TRUE(settling.TryTake(80, BytesFor::kSettling));
  ByteShare work(budget);
  EXPECT_FALSE(work.TryTake(1, BytesFor::kNewWork));
  EXPECT_EQ(work.TakeUpTo(5, BytesFor::kNewWork, "shop"), 0u);
}

TEST(ByteBudget, AsMuchAsThereIsRoomFor) {
  ByteBudget budget(100);
  ByteShare request(budget);
  EXPECT_TRUE(request.TryTake(50, BytesFor::kNewWork));
  ByteShare share(budget);
  EXPECT_EQ(share.TakeUpTo(30, BytesFor::kNewWork, "shop"), 25u);
  EXPECT_EQ(share.bytes(), 25u);
}

TEST(ByteBudget, OneNamespacesAnswersHaveHalfOfWhatNewWorkHas) {
  ByteBudget budget(80);
  ASSERT_EQ(budget.namespace_max(), 30u);
  {
    ByteShare first(budget);
    ByteShare second(budget);
    ByteShare other(budget);
    EXPECT_EQ(first.TakeUpTo(20, BytesFor::kNewWork, "shop"), 20u);
    EXPECT_EQ(second.TakeUpTo(20, BytesFor::kNewWork, "shop"), 10u);
    EXPECT_EQ(other.TakeUpTo(20, BytesFor::kNewWork, "pay"), 20u);
    EXPECT_EQ(budget.used(), 50u);
  }
  EXPECT_EQ(budget.used(), 0u);
  ByteShare again(budget);
  EXPECT_EQ(again.TakeUpTo(40, BytesFor::kNewWork, "shop"), 30u);
}

// What the whole has no room for isn't the namespace's, either.
TEST(ByteBudget, WhatIsNotThereIsGivenBackToTheNamespace) {
  ByteBudget budget(80);
  ByteShare share(budget);
  {
    ByteShare request(budget);
    EXPECT_TRUE(request.TryTake(50, BytesFor::kNewWork));
    EXPECT_EQ(share.TakeUpTo(30, BytesFor::kNewWork, "shop"), 10u);
  }
  ByteShare more(budget);
  EXPECT_EQ(more.TakeUpTo(30, BytesFor::kNewWork, "shop"), 20u);
}

TEST(ByteBudget, WhatMustBeSentTakesWhatIsNotThere) {
  ByteBudget budget(100);
  {
    ByteShare share(budget);
    share.Set(150);
    EXPECT_EQ(budget.used(), 150u);
    ByteShare other(budget);
    EXPECT_FALSE(other.TryTake(1, BytesFor::kSettling));
    share.Set(20);
    EXPECT_EQ(budget.used(), 20u);
    EXPECT_TRUE(other.TryTake(1, BytesFor::kSettling));
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(ByteBudget, IsNeverOverdrawnByMany) {
  constexpr std::size_t kMax = 1'000;
  ByteBudget budget(kMax);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10'000; ++round) {
        ByteShare share(budget);
        (void)share.TryTake(300, BytesFor::kSettling);
        (void)share.TakeUpTo(100, BytesFor::kNewWork, round % 2 == 0 ? "shop" : "pay");
        EXPECT_LE(budget.used(), kMax);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace onced
