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
  struct Seen {
    absl::Status status;
    std::optional<Record> record;
    Fence next;
  };
  Seen Look(Store& store, const RecordKey& key) {
    Seen seen;
    auto work = std::make_unique<UnitOfWork>();
    const auto slot = work->Want(kShard, key);
    store.Run(
        std::move(work),
        [&](UnitOfWork& loaded) {
          seen = {loaded.ReadStatus(slot), loaded.Find(slot),
                  loaded.NextFence(slot, absl::UnixEpoch())};
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

TEST_F(FaultyStoreTest, HoldsDurabilityBackInOrder) {
  faulty_.HoldDurability();
  faulty_.FailWrite(2, FaultyStore::Landing::kIsLost);
  Put(faulty_, kKey);
  Put(faulty_, kOther);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(Look(*real_, kKey).record, MinimalPending());
  faulty_.ReleaseDurability();
  EXPECT_THAT(told_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kUnavailable));
}

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
