#include "server/shard/marked_clock.h"

#include "gtest/gtest.h"
#include "server/storage/memory/memory_store.h"
#include "server/storage/store_wrapper.h"
#include "tests/support/fake_clock.h"
#include "tests/support/faulty_store.h"
#include "tests/support/test_records.h"
#include "tests/unit/shard/seeded_random.h"

namespace onced {
namespace {

// Counts what reaches the disk.
class CountingStore final : public StoreWrapper {
 public:
  explicit CountingStore(Store& real) : StoreWrapper(real) {}
  void Run(std::unique_ptr<UnitOfWork>, Body, Durable) override { FAIL(); }
  absl::Status RaiseClockMark(absl::Time mark) override {
    ++raises;
    return real().RaiseClockMark(mark);
  }

  int raises = 0;
};

class MarkedClockTest : public testing::Test {
 protected:
  MarkedClockTest() {
    SeededRandom random(1);
    real_ = *MemoryStore::Open(disk_, {.shards = 1, .wall_now = TestStart(), .random = random});
    faulty_ = std::make_unique<FaultyStore>(*real_);
    store_ = std::make_unique<CountingStore>(*faulty_);
  }

  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> real_;
  std::unique_ptr<FaultyStore> faulty_;
  std::unique_ptr<CountingStore> store_;
  FakeClock clock_{TestStart()};
};

TEST_F(MarkedClockTest, IsNeverAboveTheDurableMark) {
  MarkedClock marked(clock_, *store_);
  for (int i = 0; i < 1'000; ++i) {
    clock_.Advance(absl::Microseconds(i * 7));
    const absl::StatusOr<absl::Time> now = marked.Now();
    ASSERT_TRUE(now.ok());
    EXPECT_EQ(*now, clock_.Now());
    EXPECT_LE(*now, store_->clock_mark());
    EXPECT_LE(store_->clock_mark(), *now + absl::Seconds(1));
  }
}

TEST_F(MarkedClockTest, WritesOnceASecondOfMovingTime) {
  MarkedClock marked(clock_, *store_);
  for (int i = 0; i < 10'000; ++i) {
    clock_.Advance(absl::Milliseconds(1));
    ASSERT_TRUE(marked.Now().ok());
  }
  EXPECT_GE(store_->raises, 9);
  EXPECT_LE(store_->raises, 16);
}

// Each start resumes at the mark: it is ahead by no more than the last run took.
TEST_F(MarkedClockTest, ACrashLoopDoesNotRunAwayWithTime) {
  const absl::Time begin = clock_.Now();
  for (int crash = 0; crash < 100; ++crash) {
    MarkedClock marked(clock_, *store_);
    for (int i = 0; i < 10; ++i) {
      clock_.Advance(absl::Milliseconds(10));
      ASSERT_TRUE(marked.Now().ok());
    }
    clock_.Set(store_->clock_mark());  // Where the next one starts.
  }
  const absl::Duration lived = 100 * absl::Milliseconds(100);
  EXPECT_LE(clock_.Now() - begin, 2 * lived);
}

TEST_F(MarkedClockTest, WritesNothingWhileTimeStandsStillOrGoesBack) {
  MarkedClock marked(clock_, *store_);
  clock_.Advance(absl::Seconds(5));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(marked.Now().ok());
  clock_.Advance(-absl::Seconds(5));
  ASSERT_TRUE(marked.Now().ok());
  EXPECT_EQ(store_->raises, 1);
}

// The mark itself may be used, and nothing above it.
TEST_F(MarkedClockTest, TheMarkIsTheLastTimeThatNeedsNoWrite) {
  MarkedClock marked(clock_, *store_);
  clock_.Set(store_->clock_mark());
  ASSERT_TRUE(marked.Now().ok());
  EXPECT_EQ(store_->raises, 0);
  clock_.Advance(absl::Microseconds(1));
  ASSERT_TRUE(marked.Now().ok());
  EXPECT_EQ(store_->raises, 1);
}

TEST_F(MarkedClockTest, FailsIfTheMarkCouldNotBeWritten) {
  MarkedClock marked(clock_, *store_);
  clock_.Advance(absl::Seconds(5));
  faulty_->FailClockMark();
  EXPECT_FALSE(marked.Now().ok());
  EXPECT_LT(store_->clock_mark(), clock_.Now());
}

TEST_F(MarkedClockTest, TwoOnOneStoreNeverPassTheMarkEither) {
  MarkedClock one(clock_, *store_), two(clock_, *store_);
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(absl::Milliseconds(100));
    MarkedClock& either = i % 3 == 0 ? one : two;
    const absl::Time now = *either.Now();
    EXPECT_LE(now, store_->clock_mark());
  }
  EXPECT_LE(store_->raises, 16);
}

}  // namespace
}  // namespace onced
