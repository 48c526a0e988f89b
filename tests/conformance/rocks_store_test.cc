// What the store on a local disk promises beyond what every store does.
#include "server/storage/rocksdb/rocks_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/random.h"
#include "server/storage/codec/meta_codec.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/codec/wire.h"
#include "tests/conformance/child.h"
#include "tests/conformance/compact_shard.h"
#include "tests/conformance/failing_env.h"
#include "tests/conformance/raw_rocks.h"
#include "tests/conformance/store_calls.h"
#include "tests/conformance/temp_dir.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kShards = 2;
const Place kPlace{{0}, {"ns", "key"}};
const Place kElsewhere{{1}, {"ns", "elsewhere"}};

class RocksStoreTest : public testing::Test {
 protected:
  // What Open() is given unless a test changes it.
  RocksStore::Options Defaults() {
    return {.data_dir = directory_, .shards = kShards, .wall_now = TestStart(), .random = random_};
  }
  absl::Status Open(const RocksStore::Options& options) {
    store_.reset();
    auto opened = RocksStore::Open(options);
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  absl::Status Open() { return Open(Defaults()); }
  void Close() { store_.reset(); }

  // One line that names the directory.
  static testing::Matcher<const absl::Status&> Refuses(absl::StatusCode code,
                                                       const std::string& directory,
                                                       const std::string& why) {
    return AllOf(
        testing::Property("code", &absl::Status::code, code),
        testing::ResultOf(
            "the message", [](const absl::Status& status) { return std::string(status.message()); },
            AllOf(HasSubstr(directory), HasSubstr(why), Not(HasSubstr("\n")))));
  }
  testing::Matcher<const absl::Status&> RefusesFor(const std::string& why) {
    return Refuses(absl::StatusCode::kFailedPrecondition, directory_, why);
  }
  testing::Matcher<const absl::Status&> FindsDamage(const std::string& why) {
    return Refuses(absl::StatusCode::kDataLoss, directory_, why);
  }

  SystemRandom random_;
  const TempDir temp_;
  const std::string directory_ = temp_.File("data");
  std::unique_ptr<RocksStore> store_;
};

// ---- The directory ----

TEST_F(RocksStoreTest, MakesTheDirectoryForItsOwnerAlone) {
  auto options = Defaults();
  options.data_dir = temp_.File("a/b/c/");
  ASSERT_TRUE(Open(options).ok());
  for (const char* made : {"a", "a/b", "a/b/c"}) {
    struct stat found {};
    ASSERT_EQ(stat(temp_.File(made).c_str(), &found), 0) << made;
    EXPECT_EQ(found.st_mode & 0777, 0700U) << made;
  }
}

TEST_F(RocksStoreTest, TakesAnEmptyDirectoryAsItIs) {
  ASSERT_TRUE(std::filesystem::create_directories(directory_ + "/lost+found"));
  EXPECT_TRUE(Open().ok());
}

TEST_F(RocksStoreTest, RefusesAFile) {
  std::ofstream(directory_) << "text";
  EXPECT_THAT(Open(), RefusesFor("not a directory"));
  auto below = Defaults();
  below.data_dir = directory_ + "/below";
  EXPECT_THAT(Open(below), RefusesFor("can't be made"));
}

TEST_F(RocksStoreTest, RefusesADirectoryThatAnotherUserMayNotWrite) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  std::filesystem::create_directory(directory_);
  Child nobody({"open-as-nobody", directory_});
  EXPECT_THAT(nobody.ReadLine(), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr(directory_),
                                       HasSubstr("not writable by user 65534")));
  Child elsewhere({"open-as-nobody", temp_.File("new")});
  EXPECT_THAT(elsewhere.ReadLine(),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("can't be made")));
}

TEST_F(RocksStoreTest, RefusesAStoreWhoseFilesAreAnotherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_TRUE(Open().ok());
  Close();
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  Child nobody({"open-as-nobody", directory_});
  EXPECT_THAT(nobody.ReadLine(), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr(directory_),
                                       HasSubstr("may not be read and written")));
}

TEST_F(RocksStoreTest, RefusesASecondOpeningByTheSameProcess) {
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(RocksStore::Open(Defaults()).status(), RefusesFor("in use"));
  ASSERT_TRUE(PutRecord(*store_, kPlace, MinimalPending()).ok());
}

TEST_F(RocksStoreTest, RefusesADirectoryInUseByAnotherProcessUntilThatEnds) {
  Child other({"hold", directory_});
  ASSERT_EQ(other.ReadLine(), "open");
  EXPECT_THAT(Open(), RefusesFor("in use by another process"));
  other.Kill();
  EXPECT_TRUE(Open().ok());
}

// ---- What is not a store ----

TEST_F(RocksStoreTest, RefusesADirectoryWithOtherFiles) {
  std::filesystem::create_directory(directory_);
  std::ofstream(directory_ + "/notes.txt") << "text";
  EXPECT_THAT(Open(), RefusesFor("notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/CURRENT"));
}

TEST_F(RocksStoreTest, RefusesAStoreThatLostItsCurrentFile) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(PutRecord(*store_, kPlace, MinimalPending()).ok());
  Close();
  std::filesystem::remove(directory_ + "/CURRENT");
  EXPECT_THAT(Open(), RefusesFor("CURRENT"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/CURRENT"));
}

TEST_F(RocksStoreTest, RefusesARocksDbOfSomebodyElse) {
  RawMake(directory_, {});
  RawPut(directory_, "default", "their", "data");
  EXPECT_THAT(Open(), RefusesFor("not a store of onced"));
}

TEST_F(RocksStoreTest, RefusesARocksDbWithForeignColumnFamilies) {
  for (const char* name : {"users", "shard-1", "shard-00001", "shard-9999"}) {
    const std::string directory = temp_.File(name);
    RawMake(directory, {"shard-0000", name});
    auto options = Defaults();
    options.data_dir = directory;
    EXPECT_THAT(Open(options),
                Refuses(absl::StatusCode::kFailedPrecondition, directory, "not a store of onced"));
  }
}

// ---- A store that was only half made ----

class HalfMade : public RocksStoreTest, public testing::WithParamInterface<int> {};

// After any step of the making, the process ended.
TEST_P(HalfMade, IsMadeAnew) {
  const int families = GetParam();
  if (families < 0) {
    std::filesystem::create_directory(directory_);
    for (const char* left : {"LOCK", "LOG", "IDENTITY", "MANIFEST-000001", "000001.dbtmp"}) {
      std::ofstream(directory_ + "/" + left) << "";
    }
  } else {
    std::vector<std::string> names;
    for (int i = 0; i < families; ++i) names.push_back(absl::StrCat("shard-000", i));
    RawMake(directory_, names);
  }
  ASSERT_TRUE(Open().ok());
  const StoreIdentity identity = store_->identity();
  EXPECT_EQ(identity.shards, kShards);
  ASSERT_TRUE(PutRecord(*store_, kElsewhere, MinimalPending()).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(store_->identity() == identity);
  EXPECT_EQ(*FindRecord(*store_, kElsewhere), MinimalPending());
}

INSTANTIATE_TEST_SUITE_P(, HalfMade, testing::Values(-1, 0, 1, 2, 5));

TEST_F(RocksStoreTest, IsNotMadeAnewOverRecordsWithoutAnIdentity) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(PutRecord(*store_, kPlace, MinimalPending()).ok());
  Close();
  RawDelete(directory_, "default", std::string(kIdentityKey));
  EXPECT_THAT(Open(), FindsDamage("holds data"));
}

// ---- Damage ----

TEST_F(RocksStoreTest, RefusesDamageToWhatItKnowsOfItself) {
  ASSERT_TRUE(Open().ok());
  Close();
  const std::string keys[] = {std::string(kIdentityKey), std::string(kClockKey),
                              std::string(kOutageKey), FenceKey({1})};
  for (const std::string& key : keys) {
    const std::string copy = temp_.File("copy-" + key);
    std::filesystem::copy(directory_, copy);
    RawPut(copy, "default", key, "junk");
    auto options = Defaults();
    options.data_dir = copy;
    EXPECT_THAT(Open(options), Refuses(absl::StatusCode::kDataLoss, copy, "damaged"));
  }
}

TEST_F(RocksStoreTest, RefusesAMissingFence) {
  ASSERT_TRUE(Open().ok());
  Close();
  RawDelete(directory_, "default", FenceKey({1}));
  EXPECT_THAT(Open(), FindsDamage("fence-0001"));
}

TEST_F(RocksStoreTest, RefusesAMissingOrAnAdditionalShard) {
  ASSERT_TRUE(Open().ok());
  const StoreIdentity identity_before = store_->identity();
  Close();
  StoreIdentity identity = identity_before;
  identity.shards = 3;
  RawPut(directory_, "default", std::string(kIdentityKey), EncodeIdentity(identity));
  RawPut(directory_, "default", FenceKey({2}), EncodeFence({}));
  auto options = Defaults();
  options.shards.reset();
  EXPECT_THAT(Open(options), FindsDamage("3 shards"));
  identity.shards = 1;
  RawPut(directory_, "default", std::string(kIdentityKey), EncodeIdentity(identity));
  EXPECT_THAT(Open(options), FindsDamage("1 shards"));
}

TEST_F(RocksStoreTest, RefusesANewerFormat) {
  ASSERT_TRUE(Open().ok());
  Close();
  WireWriter newer;
  newer.Int<std::uint32_t>(kStoreFormat + 1);
  RawPut(directory_, "default", std::string(kIdentityKey), std::move(newer).Seal());
  EXPECT_THAT(Open(), RefusesFor("newer onced"));
}

// ---- Durability ----

class Killed : public RocksStoreTest, public testing::WithParamInterface<const char*> {};

TEST_P(Killed, LosesNothingThatItSaidToBeDurable) {
  Child writer({"write", directory_, GetParam()});
  std::set<int> said;
  while (said.size() < 200) {
    const std::string line = writer.ReadLine();
    ASSERT_NE(line, "");
    said.insert(std::stoi(line));
  }
  writer.Kill();
  for (std::string line = writer.ReadLine(); !line.empty(); line = writer.ReadLine()) {
    said.insert(std::stoi(line));
  }
  ASSERT_TRUE(Open().ok());
  for (const int i : said) {
    const Place place{{static_cast<std::uint32_t>(i) % 2}, {"ns", absl::StrCat("key", i)}};
    const auto found = FindRecord(*store_, place);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, MinimalCommitted(absl::StrCat("body", i)));
  }
}

INSTANTIATE_TEST_SUITE_P(, Killed, testing::Values("fsync", "process"),
                         [](const auto& row) { return row.param; });

TEST_F(RocksStoreTest, KilledInTheMiddleItHasWholeUnitsAndNoGap) {
  Child writer({"flood", directory_});
  int said = -1;
  while (said < 2'000) said = std::stoi(writer.ReadLine());
  writer.Kill();
  for (std::string line = writer.ReadLine(); !line.empty(); line = writer.ReadLine()) {
    said = std::stoi(line);
  }
  ASSERT_TRUE(Open().ok());
  const auto has = [&](std::uint32_t shard, const std::string& key) {
    return FindRecord(*store_, {{shard}, {"ns", key}})->has_value();
  };
  bool ended = false;
  for (int i = 0; i < said + 200; ++i) {  // More than were in flight.
    const bool there = has(0, absl::StrCat(i));
    EXPECT_EQ(there, has(1, absl::StrCat("twin", i))) << i;
    EXPECT_TRUE(there || i > said) << i << " of " << said;
    EXPECT_FALSE(there && ended) << "after a gap: " << i;
    ended = ended || !there;
  }
  EXPECT_TRUE(ended);
}

class RocksStoreOnEnv : public RocksStoreTest {
 protected:
  absl::Status OpenOnEnv(RocksStore::Durability durability) {
    auto options = Defaults();
    options.env = &env_;
    options.durability = durability;
    return Open(options);
  }
  ~RocksStoreOnEnv() override { Close(); }

  FailingEnv env_;
};

TEST_F(RocksStoreOnEnv, SyncsOnceAUnitHoweverManyShards) {
  ASSERT_TRUE(OpenOnEnv(RocksStore::Durability::kFsync).ok());
  const int before = env_.syncs;
  ASSERT_TRUE(RunUnit(*store_, {kPlace, kElsewhere}, [](UnitOfWork& work) {
                work.Put({0}, MinimalPending());
                work.Put({1}, MinimalPending());
              }).ok());
  EXPECT_EQ(env_.syncs, before + 1);
  ASSERT_TRUE(store_->RaiseClockMark(TestStart() + absl::Seconds(1)).ok());
  EXPECT_EQ(env_.syncs, before + 2);
}

TEST_F(RocksStoreOnEnv, IsLowOnSpaceBelowTheFloor) {
  auto options = Defaults();
  options.env = &env_;
  options.disk_floor_bytes = 1'000;
  env_.free_bytes = 1'000;
  ASSERT_TRUE(Open(options).ok());
  EXPECT_FALSE(store_->LowOnSpace());
  env_.free_bytes = 999;
  EXPECT_TRUE(store_->LowOnSpace());
  EXPECT_EQ(store_->FreeBytes(), 999U);
  env_.free_bytes = 1'000;
  EXPECT_FALSE(store_->LowOnSpace());
}

TEST_F(RocksStoreOnEnv, WritesNothingForAUnitWithoutChanges) {
  ASSERT_TRUE(OpenOnEnv(RocksStore::Durability::kFsync).ok());
  const int syncs = env_.syncs;
  const int appends = env_.appends;
  ASSERT_TRUE(RunUnit(*store_, {kPlace, kElsewhere}, [](UnitOfWork&) {}).ok());
  ASSERT_TRUE(store_->RaiseClockMark(TestStart()).ok());
  EXPECT_EQ(env_.syncs, syncs);
  EXPECT_EQ(env_.appends, appends);
}

TEST_F(RocksStoreOnEnv, SyncsForTheProcessAloneBehindItsBack) {
  ASSERT_TRUE(OpenOnEnv(RocksStore::Durability::kProcess).ok());
  env_.ForgetWhoSynced();
  const int syncs = env_.syncs;
  const int appends = env_.appends;
  ASSERT_TRUE(PutRecord(*store_, kPlace, MinimalPending()).ok());
  ASSERT_TRUE(store_->RaiseClockMark(TestStart() + absl::Seconds(1)).ok());
  EXPECT_GT(env_.appends, appends);
  EXPECT_FALSE(env_.SyncedBy(std::this_thread::get_id()));
  Close();
  EXPECT_GT(env_.syncs, syncs);
}

class FailedWrite : public RocksStoreOnEnv, public testing::WithParamInterface<bool> {
 protected:
  void FailFromNowOn() { (GetParam() ? env_.fail_syncs : env_.fail_appends) = true; }
};

TEST_P(FailedWrite, EndsTheStore) {
  ASSERT_TRUE(OpenOnEnv(RocksStore::Durability::kFsync).ok());
  ASSERT_TRUE(PutRecord(*store_, kElsewhere, MinimalPending()).ok());
  FailFromNowOn();
  EXPECT_TRUE(absl::IsUnavailable(PutRecord(*store_, kPlace, MinimalPending())));
  env_.fail_syncs = env_.fail_appends = false;

  // Fails closed, though the disk is well again: nobody knows what it holds.
  const int appends = env_.appends;
  EXPECT_TRUE(absl::IsUnavailable(FindRecord(*store_, kPlace).status()));
  EXPECT_TRUE(absl::IsUnavailable(FindRecord(*store_, kElsewhere).status()));
  EXPECT_TRUE(absl::IsUnavailable(PutRecord(*store_, kElsewhere, MinimalCommitted("x"))));
  EXPECT_TRUE(absl::IsUnavailable(RunUnit(*store_, {kElsewhere}, [](UnitOfWork&) {})));
  EXPECT_TRUE(absl::IsUnavailable(store_->RaiseClockMark(TestStart() + absl::Seconds(1))));
  EXPECT_EQ(env_.appends, appends);

  // What was acknowledged is there; the rest is there or not.
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(*FindRecord(*store_, kElsewhere), MinimalPending());
  EXPECT_TRUE(PutRecord(*store_, kPlace, MinimalCommitted("again")).ok());
  EXPECT_EQ(*FindRecord(*store_, kPlace), MinimalCommitted("again"));
}

TEST_P(FailedWrite, OfTheClockMarkEndsTheStoreToo) {
  ASSERT_TRUE(OpenOnEnv(RocksStore::Durability::kFsync).ok());
  FailFromNowOn();
  EXPECT_TRUE(absl::IsUnavailable(store_->RaiseClockMark(TestStart() + absl::Seconds(1))));
  EXPECT_EQ(store_->clock_mark(), TestStart());
  EXPECT_TRUE(absl::IsUnavailable(PutRecord(*store_, kPlace, MinimalPending())));
}

TEST_P(FailedWrite, WhileOpeningRefusesToOpen) {
  ASSERT_TRUE(OpenOnEnv(RocksStore::Durability::kFsync).ok());
  Close();
  FailFromNowOn();
  const absl::Status refused = OpenOnEnv(RocksStore::Durability::kFsync);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.message()), HasSubstr(directory_));
}

INSTANTIATE_TEST_SUITE_P(, FailedWrite, testing::Bool(), [](const auto& row) {
  return std::string(row.param ? "sync" : "append");
});

// ---- Space ----

class Reclaim : public RocksStoreTest {
 protected:
  // After compaction at this clock mark.
  bool Survives(const Place& place) {
    EXPECT_TRUE(CompactShard(*store_, place.shard).ok());
    const auto found = FindRecord(*store_, place);
    return !found.ok() || found->has_value();
  }
  Record OfThisEpoch(Record record) {
    record.token.epoch = store_->identity().epoch;
    return record;
  }
  static Record ExpiresAt(absl::Time time) {
    Record record = MinimalCommitted("body");
    std::get<Committed>(record.phase).expire_time = time;
    return record;
  }
  // Lapses two minutes after TestStart(), under this rule.
  Record Lapses(OnLapse on_lapse, absl::Duration lapsed_retention) {
    Record record = OfThisEpoch(MinimalPending());
    std::get<Pending>(record.phase).on_lapse = on_lapse;
    std::get<Pending>(record.phase).lapsed_retention = lapsed_retention;
    return record;
  }
};

TEST_F(Reclaim, TakesWhatExpiredAnHourBelowTheMark) {
  ASSERT_TRUE(Open().ok());
  const absl::Time mark = TestStart() + absl::Hours(10);
  const Place later{{0}, {"ns", "later"}};
  ASSERT_TRUE(PutRecord(*store_, kPlace, ExpiresAt(mark - absl::Hours(1))).ok());
  ASSERT_TRUE(
      PutRecord(*store_, later, ExpiresAt(mark - absl::Hours(1) + absl::Microseconds(1))).ok());
  EXPECT_TRUE(Survives(kPlace));
  ASSERT_TRUE(store_->RaiseClockMark(mark).ok());
  EXPECT_FALSE(Survives(kPlace));
  EXPECT_TRUE(Survives(later));
  ASSERT_TRUE(store_->RaiseClockMark(mark + absl::Microseconds(1)).ok());
  EXPECT_FALSE(Survives(later));
  EXPECT_EQ(store_->EstimateKeys(), 0U);
}

TEST_F(Reclaim, TakesALapsedReservationAfterItsRetention) {
  ASSERT_TRUE(Open().ok());
  const absl::Time expiry = TestStart() + absl::Minutes(2) + absl::Hours(24);
  ASSERT_TRUE(PutRecord(*store_, kPlace, Lapses(OnLapse::kRegrant, absl::Hours(24))).ok());
  ASSERT_TRUE(store_->RaiseClockMark(expiry + absl::Hours(1) - absl::Microseconds(1)).ok());
  EXPECT_TRUE(Survives(kPlace));
  ASSERT_TRUE(store_->RaiseClockMark(expiry + absl::Hours(1)).ok());
  EXPECT_FALSE(Survives(kPlace));
}

TEST_F(Reclaim, NeverTakesWhatIsHeld) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(PutRecord(*store_, kPlace, Lapses(OnLapse::kHold, absl::Hours(24))).ok());
  ASSERT_TRUE(store_->RaiseClockMark(TestStart() + absl::Hours(24 * 3650)).ok());
  EXPECT_TRUE(Survives(kPlace));
}

// It counts as held: nobody knows what happened after the backup.
TEST_F(Reclaim, NeverTakesAReservationFromBeforeARestore) {
  ASSERT_TRUE(Open().ok());
  Record record = Lapses(OnLapse::kRegrant, absl::Hours(24));
  record.token.epoch.value ^= 1;
  ASSERT_TRUE(PutRecord(*store_, kPlace, record).ok());
  ASSERT_TRUE(store_->RaiseClockMark(TestStart() + absl::Hours(24 * 3650)).ok());
  EXPECT_TRUE(Survives(kPlace));
}

TEST_F(Reclaim, NeverTakesWhatTheGraceOfAnOutageKeepsAlive) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(PutRecord(*store_, kPlace, Lapses(OnLapse::kRegrant, absl::Minutes(1))).ok());
  auto days_later = Defaults();
  days_later.wall_now = TestStart() + absl::Hours(72);
  days_later.restart_grace = absl::Hours(2);
  ASSERT_TRUE(Open(days_later).ok());
  const absl::Time expiry = days_later.wall_now + absl::Hours(2) + absl::Minutes(1);
  ASSERT_TRUE(store_->RaiseClockMark(expiry + absl::Hours(1) - absl::Microseconds(1)).ok());
  EXPECT_TRUE(Survives(kPlace));
  ASSERT_TRUE(store_->RaiseClockMark(expiry + absl::Hours(1)).ok());
  EXPECT_FALSE(Survives(kPlace));
}

TEST_F(Reclaim, NeverTakesWhatIsDamaged) {
  ASSERT_TRUE(Open().ok());
  std::string bytes = EncodeRecord(ExpiresAt(TestStart()));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  Close();
  RawPut(directory_, "shard-0000", EncodeKey(kPlace.key), bytes);
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(store_->RaiseClockMark(TestStart() + absl::Hours(24 * 3650)).ok());
  EXPECT_TRUE(Survives(kPlace));
  EXPECT_TRUE(absl::IsDataLoss(FindRecord(*store_, kPlace).status()));
}

TEST_F(Reclaim, GoesOnAfterARestart) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(PutRecord(*store_, kPlace, ExpiresAt(TestStart())).ok());
  ASSERT_TRUE(store_->RaiseClockMark(TestStart() + absl::Hours(1)).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_FALSE(Survives(kPlace));
}

}  // namespace
}  // namespace onced
