// That the saboteur fails what it was told to fail, and nothing else. That it
// passes everything else through is in tests/conformance.
#include "tests/support/faulty_store.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/random.h"
#include "server/storage/memory/memory_store.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ShardId kShard{0};
const RecordKey kKey{"ns", "key"};
const RecordKey kOther{"ns", "other"};

class FaultyStoreTest : public testing::Test {
 protected:
  std::unique_ptr<MemoryStore> Open() {
    return *MemoryStore::Open(disk_, {.shards = 1, .wall_now = TestStart(), .random = random_});
  }
  // Puts a record, and adds what was told of it to `told_`, when it was.
  void Put(Store& store, const RecordKey& key, Fence fence = {7}) {
    auto work = std::make_unique<UnitOfWork>();
    const auto slot = work->Want(kShard, key);
    store.Run(
        std::move(work), [&](UnitOfWork& loaded) { loaded.Put(slot, MinimalPending(fence)); },
        [this](const absl::Status& status) { told_.push_back(status.code()); });
  }
  void Erase(Store& store, const RecordKey& key) {
    auto work = std::make_unique<UnitOfWork>();
    const auto slot = work->Want(kShard, key);
    store.Run(
        std::move(work), [&](UnitOfWork& loaded) { loaded.Erase(slot); },
        [this](const absl::Status& status) { told_.push_back(status.code()); });
  }
  struct Seen {
    absl::Status status;
    std::optional<Record> record;
    Fence next;
    bool settled = false;
  };
  Seen Look(Store& store, const RecordKey& key) {
    Seen seen;
    auto work = std::make_unique<UnitOfWork>();
    const auto slot = work->Want(kShard, key);
    store.Run(
        std::move(work),
        [&](UnitOfWork& loaded) {
          seen = {loaded.ReadStatus(slot), loaded.Find(slot),
                  loaded.NextFence(slot, absl::UnixEpoch()), loaded.Settled(slot)};
        },
        [](const absl::Status&) {});  // Ignored: nothing was changed.
    return seen;
  }

  SystemRandom random_;
  MemoryDisk disk_;
  const std::unique_ptr<MemoryStore> real_ = Open();
  FaultyStore faulty_{*real_};
  std::vector<absl::StatusCode> told_;
};

class FailedWrite : public FaultyStoreTest,
                    public testing::WithParamInterface<FaultyStore::Landing> {};

TEST_P(FailedWrite, IsTheOneThatWasNamedAndTheLast) {
  faulty_.FailWrite(2, GetParam());
  Put(faulty_, kKey, {7});
  EXPECT_TRUE(Look(faulty_, kKey).status.ok());  // Not a write, so not counted.
  Put(faulty_, kOther, {8});
  EXPECT_THAT(told_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kUnavailable));
  EXPECT_EQ(faulty_.writes(), 2);

  EXPECT_TRUE(absl::IsUnavailable(Look(faulty_, kKey).status));
  EXPECT_TRUE(absl::IsUnavailable(faulty_.RaiseClockMark(TestStart() + absl::Seconds(1))));

  const bool landed = GetParam() == FaultyStore::Landing::kLands;
  const auto reopened = Open();
  EXPECT_TRUE(Look(*reopened, kKey).record.has_value());
  EXPECT_EQ(Look(*reopened, kOther).record.has_value(), landed);
  EXPECT_EQ(Look(*reopened, kOther).next, Fence{landed ? 9 : 8});
}

INSTANTIATE_TEST_SUITE_P(, FailedWrite,
                         testing::Values(FaultyStore::Landing::kLands,
                                         FaultyStore::Landing::kIsLost));

TEST_F(FaultyStoreTest, FailsReadsOfOneKeyUntilHealed) {
  Put(faulty_, kKey);
  Put(faulty_, kOther);
  faulty_.FailReads(kKey, absl::DataLossError("fake"));
  EXPECT_TRUE(absl::IsDataLoss(Look(faulty_, kKey).status));
  EXPECT_EQ(Look(faulty_, kKey).record, std::nullopt);
  EXPECT_EQ(Look(faulty_, kOther).record, MinimalPending());
  faulty_.HealReads();
  EXPECT_EQ(Look(faulty_, kKey).record, MinimalPending());
}

// ---- A slow disk ----

class Held : public FaultyStoreTest {
 protected:
  void SetUp() override {
    Put(faulty_, kSettled);
    told_.clear();
    faulty_.HoldDurability();
  }
  // What is in the real store.
  bool Landed(const RecordKey& key) { return Look(*real_, key).record.has_value(); }
  // A unit that changes nothing, and whether it was told at once.
  bool Reads(const std::vector<RecordKey>& keys) {
    const std::size_t before = told_.size();
    auto work = std::make_unique<UnitOfWork>();
    for (const RecordKey& key : keys) work->Want(kShard, key);
    faulty_.Run(
        std::move(work), [](UnitOfWork&) {},
        [this](const absl::Status& status) { told_.push_back(status.code()); });
    return told_.size() > before;
  }

  const RecordKey kSettled{"ns", "settled"};
  const RecordKey kThird{"ns", "third"};
};

TEST_F(Held, ChangesAreSeenAndNotDurableAndNotThere) {
  Put(faulty_, kKey, {9});
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_FALSE(Landed(kKey));
  const Seen seen = Look(faulty_, kKey);
  EXPECT_EQ(seen.record, MinimalPending({9}));
  EXPECT_FALSE(seen.settled);
  EXPECT_EQ(seen.next, Fence{10});
  EXPECT_TRUE(Look(faulty_, kSettled).settled);
  EXPECT_EQ(Look(faulty_, kSettled).next, Fence{10});
  EXPECT_EQ(faulty_.held(), 1U);
  faulty_.ReleaseDurability();
  EXPECT_THAT(told_, ElementsAre(absl::StatusCode::kOk));
  EXPECT_EQ(Look(*real_, kKey).record, MinimalPending({9}));
  EXPECT_EQ(Look(*real_, kKey).next, Fence{10});
  EXPECT_TRUE(Look(faulty_, kKey).settled);
  EXPECT_EQ(faulty_.held(), 0U);
}

TEST_F(Held, ErasingIsAChange) {
  Erase(faulty_, kSettled);
  EXPECT_EQ(Look(faulty_, kSettled).record, std::nullopt);
  EXPECT_FALSE(Look(faulty_, kSettled).settled);
  EXPECT_TRUE(Landed(kSettled));
  faulty_.ReleaseDurability();
  EXPECT_FALSE(Landed(kSettled));
}

TEST_F(Held, WhoFoundNothingHeldIsToldAtOnce) {
  Put(faulty_, kKey);
  EXPECT_TRUE(Reads({kSettled}));
  EXPECT_TRUE(Reads({kOther}));
  EXPECT_TRUE(Reads({}));
  EXPECT_FALSE(Reads({kSettled, kKey}));
}

TEST_F(Held, IsReleasedInPartWithWhoWaitsForThat) {
  Put(faulty_, kKey);
  Put(faulty_, kOther);
  EXPECT_FALSE(Reads({kKey}));
  EXPECT_FALSE(Reads({kKey, kOther}));
  faulty_.ReleaseSome(1);
  EXPECT_EQ(told_.size(), 2U);
  EXPECT_TRUE(Landed(kKey));
  EXPECT_FALSE(Landed(kOther));
  EXPECT_TRUE(Look(faulty_, kKey).settled);
  Put(faulty_, kThird);
  EXPECT_EQ(told_.size(), 2U);
  faulty_.ReleaseSome(9);
  EXPECT_EQ(told_.size(), 5U);
  Put(faulty_, kKey);
  EXPECT_EQ(told_.size(), 5U);
}

TEST_F(Held, IsLostInACrash) {
  Put(faulty_, kKey);
  faulty_.LandSilently(0);
  EXPECT_FALSE(Landed(kKey));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(Held, MayLandInACrashThoughNobodyIsTold) {
  Put(faulty_, kKey);
  Put(faulty_, kOther);
  Erase(faulty_, kKey);
  faulty_.LandSilently(2);
  EXPECT_TRUE(Landed(kKey));
  EXPECT_TRUE(Landed(kOther));
  EXPECT_THAT(told_, IsEmpty());
}

class HeldFailedWrite : public Held, public testing::WithParamInterface<FaultyStore::Landing> {};

TEST_P(HeldFailedWrite, IsHeardOfOnceItIsReleasedAndAllAfterItFail) {
  const bool lands = GetParam() == FaultyStore::Landing::kLands;
  faulty_.FailWrite(2, GetParam());
  Put(faulty_, kKey);
  Put(faulty_, kOther);
  EXPECT_FALSE(Reads({kKey}));
  EXPECT_FALSE(Reads({kOther}));
  Put(faulty_, kThird);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_TRUE(Look(faulty_, kKey).status.ok());
  faulty_.ReleaseDurability();
  EXPECT_THAT(told_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kOk,
                                 absl::StatusCode::kUnavailable, absl::StatusCode::kUnavailable,
                                 absl::StatusCode::kUnavailable));
  EXPECT_TRUE(Landed(kKey));
  EXPECT_EQ(Landed(kOther), lands);
  EXPECT_FALSE(Landed(kThird));
  EXPECT_TRUE(absl::IsUnavailable(Look(faulty_, kSettled).status));
}

TEST_P(HeldFailedWrite, InACrashIsTheLastThatMayLand) {
  faulty_.FailWrite(2, GetParam());
  for (const RecordKey& key : {kKey, kOther, kThird}) Put(faulty_, key);
  faulty_.LandSilently(3);
  EXPECT_TRUE(Landed(kKey));
  EXPECT_EQ(Landed(kOther), GetParam() == FaultyStore::Landing::kLands);
  EXPECT_FALSE(Landed(kThird));
}

INSTANTIATE_TEST_SUITE_P(, HeldFailedWrite,
                         testing::Values(FaultyStore::Landing::kLands,
                                         FaultyStore::Landing::kIsLost));

TEST_F(FaultyStoreTest, FailsTheClockMarkOnceItWouldBeWritten) {
  faulty_.FailClockMark();
  EXPECT_TRUE(faulty_.RaiseClockMark(TestStart()).ok());
  EXPECT_TRUE(absl::IsUnavailable(faulty_.RaiseClockMark(TestStart() + absl::Seconds(1))));
  EXPECT_EQ(faulty_.clock_mark(), TestStart());
  Put(faulty_, kKey);
  EXPECT_THAT(told_, ElementsAre(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace onced
