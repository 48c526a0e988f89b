// The store on a disk whose syncs hang until they are let go.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/random.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "tests/conformance/failing_env.h"
#include "tests/conformance/store_calls.h"
#include "tests/conformance/temp_dir.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
constexpr std::uint32_t kShards = 4;
const Place kSettled{{0}, {"ns", "settled"}};
const Place kPlace{{0}, {"ns", "key"}};
const Place kElsewhere{{1}, {"ns", "elsewhere"}};

Place Numbered(int i) {
  return {{static_cast<std::uint32_t>(i) % kShards}, {"ns", absl::StrCat(i)}};
}

class SlowDisk : public testing::Test {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(PutRecord(*store_, kSettled, MinimalCommitted("settled")).ok());
    env_.HoldSyncs();
    syncs_ = env_.syncs;
  }
  ~SlowDisk() override {
    env_.ReleaseSyncs();
    store_.reset();
  }
  void Open() {
    store_.reset();
    auto opened = RocksStore::Open({.data_dir = temp_.File("data"),
                                    .shards = kShards,
                                    .wall_now = TestStart(),
                                    .random = random_,
                                    .env = &env_});
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  void StartPut(const Place& place, const Record& record, int who) {
    StartUnit(
        *store_, {place}, [&](UnitOfWork& work) { work.Put({0}, record); }, told_.As(who));
  }
  void StartLook(const Place& place, int who) {
    StartUnit(
        *store_, {place}, [](UnitOfWork&) {}, told_.As(who));
  }
  // A unit whose sync hangs.
  void Occupy() {
    StartPut(kPlace, MinimalPending(), 0);
    env_.AwaitHangingSync();
  }
  int Syncs() const { return env_.syncs - syncs_; }

  SystemRandom random_;
  const TempDir temp_;
  FailingEnv env_;
  int syncs_ = 0;
  Told told_;  // Before the store: that tells when it is closed.
  std::unique_ptr<RocksStore> store_;
};

TEST_F(SlowDisk, WhatComesDuringASyncSharesTheNext) {
  Occupy();
  std::vector<Told::One> expected = {{0}};
  for (int i = 1; i <= 20; ++i) {
    StartPut(Numbered(i), MinimalCommitted(absl::StrCat(i)), i);
    expected.push_back({i});
  }
  EXPECT_THAT(told_.all(), IsEmpty());
  env_.ReleaseSyncs();
  EXPECT_EQ(told_.Await(21), expected);
  EXPECT_EQ(Syncs(), 2);
  Open();
  for (int i = 1; i <= 20; ++i) {
    EXPECT_EQ(*FindRecord(*store_, Numbered(i)), MinimalCommitted(absl::StrCat(i)));
  }
}

TEST_F(SlowDisk, NobodyIsToldBeforeTheSyncHasEnded) {
  Occupy();
  StartPut(kElsewhere, MinimalPending(), 1);
  env_.LetSyncs(1);
  env_.AwaitHangingSync(2);  // The second batch's, so the first is told, and that alone.
  EXPECT_THAT(told_.Await(1), ElementsAre(Told::One{0}));
}

TEST_F(SlowDisk, AScanSeesWhatIsDurableAndWaitsForNothing) {
  const auto listed = [&] {
    std::vector<std::string> keys;
    const auto scanned = store_->Scan({.shard = {0},
                                       .name_space = "ns",
                                       .key_prefix = "",
                                       .after = "",
                                       .records_max = 10,
                                       .bytes_max = 1'000},
                                      [&](const std::string& key, const auto&) {
                                        keys.push_back(key);
                                        return true;
                                      });
    EXPECT_TRUE(scanned.ok()) << scanned.status();
    return keys;
  };
  Occupy();
  EXPECT_THAT(listed(), ElementsAre("settled"));
  env_.ReleaseSyncs();
  told_.Await(1);
  EXPECT_THAT(listed(), ElementsAre("key", "settled"));
  env_.HoldSyncs();
}

TEST_F(SlowDisk, WhatIsDurableIsReadAndToldMeanwhile) {
  Occupy();
  EXPECT_EQ(*FindRecord(*store_, kSettled), MinimalCommitted("settled"));
  EXPECT_EQ(*FindRecord(*store_, kElsewhere), std::nullopt);
  StartUnit(
      *store_, {kSettled, kPlace, kElsewhere},
      [](UnitOfWork& work) {
        EXPECT_TRUE(work.Settled({0}));
        EXPECT_FALSE(work.Settled({1}));
        EXPECT_TRUE(work.Settled({2}));
        EXPECT_EQ(work.Find({1}), MinimalPending());
      },
      told_.As(1));
  EXPECT_THAT(told_.all(), IsEmpty());
  env_.ReleaseSyncs();
  EXPECT_THAT(told_.Await(2), ElementsAre(Told::One{0}, Told::One{1}));
}

TEST_F(SlowDisk, WhatIsErasedMeanwhileIsNotDurablyAbsent) {
  StartUnit(
      *store_, {kSettled}, [](UnitOfWork& work) { work.Erase({0}); }, told_.As(0));
  env_.AwaitHangingSync();
  StartUnit(
      *store_, {kSettled},
      [](UnitOfWork& work) {
        EXPECT_EQ(work.Find({0}), std::nullopt);
        EXPECT_FALSE(work.Settled({0}));
      },
      told_.As(1));
  EXPECT_THAT(told_.all(), IsEmpty());
  env_.ReleaseSyncs();
  EXPECT_THAT(told_.Await(2), ElementsAre(Told::One{0}, Told::One{1}));
  EXPECT_EQ(*FindRecord(*store_, kSettled), std::nullopt);
}

TEST_F(SlowDisk, OnceItIsToldAKeyIsSettled) {
  Occupy();
  env_.ReleaseSyncs();
  told_.Await(1);
  // Told by the same thread, after that it is known to be durable.
  ASSERT_TRUE(PutRecord(*store_, kElsewhere, MinimalPending()).ok());
  env_.HoldSyncs();
  StartPut(kElsewhere, MinimalCommitted("x"), 1);
  env_.AwaitHangingSync();
  StartUnit(
      *store_, {kPlace}, [](UnitOfWork& work) { EXPECT_TRUE(work.Settled({0})); }, told_.As(2));
  EXPECT_THAT(told_.all(), ElementsAre(Told::One{0}, Told::One{2}));
}

// One who may not add any more waits, and no longer than until there is room.
TEST_F(SlowDisk, HoldsExecutorsUpOnlyBeyondTheBound) {
  constexpr int kUnits = 7;  // Of a MiB each, and an eighth would be more than kBytesMax.
  const std::string body(1 << 20, 'x');
  Occupy();
  for (int i = 1; i <= kUnits; ++i) StartPut(Numbered(i), MinimalCommitted(body), i);
  Mutex mutex;
  CondVar changed;
  bool is_back = false;
  std::thread executor([&] {
    StartPut(Numbered(100), MinimalCommitted(body), 100);
    const MutexLock lock(mutex);
    is_back = true;
    changed.NotifyOne();
  });
  {
    // That somebody waits can't be seen, only that he isn't back.
    const Countdown countdown(std::chrono::milliseconds(200));
    const MutexLock lock(mutex);
    while (!is_back && countdown.rest().count() > 0) changed.WaitFor(mutex, countdown.rest());
    EXPECT_FALSE(is_back);
  }
  // Readers of other shards go on.
  EXPECT_EQ(*FindRecord(*store_, kSettled), MinimalCommitted("settled"));
  env_.LetSyncs(1);
  env_.AwaitHangingSync(2);
  executor.join();  // While the second sync hangs.
  EXPECT_THAT(told_.Await(1), ElementsAre(Told::One{0}));
  env_.ReleaseSyncs();
  EXPECT_EQ(told_.Await(kUnits + 2).back(), Told::One{100});
  EXPECT_EQ(Syncs(), 3);
}

TEST_F(SlowDisk, TakesWhatIsLargerThanTheBound) {
  env_.ReleaseSyncs();
  const Record large = MinimalCommitted(std::string(3 << 20, 'x'));
  ASSERT_TRUE(RunUnit(*store_, {Numbered(1), Numbered(2), Numbered(3)}, [&](UnitOfWork& work) {
                for (std::size_t i = 0; i < 3; ++i) work.Put({i}, large);
              }).ok());
  EXPECT_EQ(Syncs(), 1);
  EXPECT_TRUE(*FindRecord(*store_, Numbered(3)) == large);
}

TEST_F(SlowDisk, AFailedSyncFailsAllThatWaitAndAllThatFollow) {
  Occupy();                                   // 0: in the batch that fails.
  StartLook(kPlace, 1);                       // Saw that.
  StartPut(kElsewhere, MinimalPending(), 2);  // In the batch that follows.
  StartLook(kElsewhere, 3);
  StartPut(kPlace, MinimalCommitted("x"), 4);
  const int appends = env_.appends;
  env_.fail_syncs = true;
  env_.ReleaseSyncs();
  EXPECT_THAT(told_.Await(5), Each(testing::Field(&Told::One::code, kUnavailable)));
  env_.fail_syncs = false;
  EXPECT_TRUE(absl::IsUnavailable(PutRecord(*store_, kPlace, MinimalPending())));
  EXPECT_TRUE(absl::IsUnavailable(FindRecord(*store_, kSettled).status()));
  EXPECT_TRUE(absl::IsUnavailable(store_->RaiseClockMark(TestStart() + absl::Seconds(1))));
  EXPECT_EQ(env_.appends, appends);

  Open();
  EXPECT_EQ(*FindRecord(*store_, kSettled), MinimalCommitted("settled"));
  EXPECT_EQ(*FindRecord(*store_, kElsewhere), std::nullopt);
  EXPECT_NE(*FindRecord(*store_, kPlace), MinimalCommitted("x"));
}

TEST_F(SlowDisk, TheMarkWaitsForWhatCameBefore) {
  Occupy();
  std::thread marking([&] {
    EXPECT_TRUE(store_->RaiseClockMark(TestStart() + absl::Seconds(1)).ok());
    EXPECT_THAT(told_.all(), ElementsAre(Told::One{0}));
  });
  EXPECT_EQ(store_->clock_mark(), TestStart());
  env_.ReleaseSyncs();
  marking.join();
  EXPECT_EQ(store_->clock_mark(), TestStart() + absl::Seconds(1));
  EXPECT_EQ(Syncs(), 2);
}

TEST_F(SlowDisk, ClosingWritesWhatWasHandedInAndTellsEverybody) {
  Occupy();
  for (int i = 1; i <= 5; ++i) StartPut(Numbered(i), MinimalPending(), i);
  StartLook(kPlace, 6);
  std::thread closing([&] { store_.reset(); });
  env_.ReleaseSyncs();
  closing.join();
  EXPECT_EQ(told_.all().size(), 7U);
  EXPECT_THAT(told_.all(), Each(testing::Field(&Told::One::code, kOk)));
  Open();
  EXPECT_EQ(*FindRecord(*store_, Numbered(5)), MinimalPending());
}

}  // namespace
}  // namespace onced
