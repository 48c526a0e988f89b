#include "server/storage/unit_of_work.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr ShardId kShard{3};
const RecordKey kKey{"ns", "key"};
const RecordKey kOther{"ns", "other"};

TEST(UnitOfWork, GivesTheSameSlotForTheSameKey) {
  UnitOfWork work;
  const UnitOfWork::Slot slot = work.Want(kShard, kKey);
  EXPECT_FALSE(work.Want(kShard, kOther) == slot);
  EXPECT_TRUE(work.Want(kShard, kKey) == slot);
  EXPECT_EQ(work.entries().size(), 2U);
}

TEST(UnitOfWork, FindsItsOwnChanges) {
  UnitOfWork work;
  const UnitOfWork::Slot slot = work.Want(kShard, kKey);
  EXPECT_EQ(work.Find(slot), std::nullopt);
  EXPECT_FALSE(work.changed());
  work.Put(slot, MinimalPending());
  EXPECT_EQ(work.Find(slot), MinimalPending());
  work.Erase(slot);
  EXPECT_EQ(work.Find(slot), std::nullopt);
  EXPECT_TRUE(work.changed());
}

TEST(UnitOfWork, NextFenceIsAtLeastNowAndMoreThanTheLast) {
  UnitOfWork work;
  const UnitOfWork::Slot slot = work.Want(kShard, kKey);
  const std::int64_t now_us = absl::ToUnixMicros(TestStart());
  work.SetLastFence(kShard, {5});
  EXPECT_EQ(work.NextFence(slot, TestStart()), Fence{now_us});
  work.SetLastFence(kShard, {now_us});
  EXPECT_EQ(work.NextFence(slot, TestStart()), Fence{now_us + 1});
  work.Put(slot, MinimalPending({now_us + 10}));
  EXPECT_EQ(work.NextFence(slot, TestStart()), Fence{now_us + 11});
}

TEST(UnitOfWork, RaisesAFenceByAHigherOneOnly) {
  UnitOfWork work;
  const UnitOfWork::Slot slot = work.Want(kShard, kKey);
  work.SetLastFence(kShard, {10});
  work.Put(slot, MinimalPending({10}));
  work.Put(slot, MinimalPending({9}));
  EXPECT_THAT(work.RaisedFences(), IsEmpty());
  work.Put(slot, MinimalPending({11}));
  work.Put(slot, MinimalPending({8}));
  EXPECT_THAT(work.RaisedFences(), ElementsAre(Pair(kShard, Fence{11})));
}

}  // namespace
}  // namespace onced
