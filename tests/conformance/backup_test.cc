// Backups, and stores that come back from them: what is kept, what is dead, and
// that no damage passes for a store.
#include "server/storage/rocksdb/backup.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/env.h"
#include "server/base/random.h"
#include "server/ledger/decide.h"
#include "server/storage/rocksdb/data_directory.h"
#include "server/storage/rocksdb/restore.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "tests/conformance/compact_shard.h"
#include "tests/conformance/failing_env.h"
#include "tests/conformance/store_calls.h"
#include "tests/conformance/temp_dir.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kShards = 2;
constexpr int kRecords = 40;
// Of a restore: an hour after all that the store did.
absl::Time Later() { return TestStart() + absl::Hours(1); }

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
void Flip(const fs::path& path, std::size_t at) {
  std::string bytes = ReadFile(path);
  ASSERT_LT(at, bytes.size()) << path;
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  WriteFile(path, bytes);
}
std::vector<fs::path> FilesBelow(const std::string& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

MATCHER_P2(Fails, code, why, "") {
  const std::string message(arg.message());
  return arg.code() == code && message.find(why) != std::string::npos &&
         message.find('\n') == std::string::npos;
}

class BackupTest : public testing::Test {
 protected:
  static Place PlaceOf(int i) {
    return {{static_cast<std::uint32_t>(i) % kShards}, {"ns", absl::StrCat("key-", i)}};
  }

  absl::Status Open(const std::string& directory, absl::Time wall_now) {
    store_.reset();
    auto opened = RocksStore::Open(
        {.data_dir = directory, .shards = kShards, .wall_now = wall_now, .random = random_});
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  void SetUp() override { ASSERT_TRUE(Open(data_, TestStart()).ok()); }

  absl::StatusOr<BackupReport> Backup() { return store_->Backup(plan_, cut_, stop_); }
  BackupReport GoodBackup() {
    const auto report = Backup();
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : BackupReport{};
  }
  RestoreOptions To(const std::string& name) {
    return {.from = plan_.directory,
            .data_dir = temp_.File(name),
            .wall_now = Later(),
            .random = random_};
  }
  // Restores, and opens what came of it.
  RestoreReport RestoreAndOpen(const std::string& name) {
    store_.reset();
    const auto report = RestoreBackup(To(name));
    EXPECT_TRUE(report.ok()) << report.status();
    const absl::Status opened = Open(temp_.File(name), Later());
    if (!opened.ok()) throw std::runtime_error(std::string(opened.message()));
    return report.ok() ? *report : RestoreReport{};
  }

  // What the server would answer now.
  State StateAt(int i) { return StateOf(*FindRecord(*store_, PlaceOf(i)), ViewNow()); }
  View ViewNow() {
    return {.now = store_->clock_mark(),
            .epoch = store_->identity().epoch,
            .outages = store_->outages()};
  }
  Reply Ask(int i, const Operation& operation) {
    return Decide(*FindRecord(*store_, PlaceOf(i)), operation, ViewNow(), Policy{}, Mint{}).reply;
  }

  Record PendingNow(int i) {
    Record record = MinimalPending(NextFenceOf(*store_, PlaceOf(i), TestStart()));
    record.token = Token::Mint(store_->identity().epoch, random_);
    return record;
  }

  SystemRandom random_;
  const TempDir temp_;
  const std::string data_ = temp_.File("data");
  BackupPlan plan_{.directory = temp_.File("backups"), .rate_bytes = 0};
  absl::Time cut_ = TestStart();
  std::atomic<bool> stop_{false};
  std::unique_ptr<RocksStore> store_;
};

// ---- What is kept ----

TEST_F(BackupTest, TellsWhatItMade) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  const BackupReport first = GoodBackup();
  EXPECT_EQ(first.id, 1U);
  EXPECT_EQ(first.cut_time, cut_);
  EXPECT_GT(first.size_bytes, 1'000U);
  EXPECT_GE(first.file_count, 3U);
  EXPECT_EQ(FindNewestBackup(plan_.directory), first);
  EXPECT_EQ(GoodBackup().id, 2U);
  EXPECT_EQ(FindNewestBackup(temp_.File("none")), std::nullopt);
}

TEST_F(BackupTest, DirectoriesMayBeNamedFromWhereOneIs) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  plan_.directory = fs::relative(plan_.directory);
  GoodBackup();
  store_.reset();
  RestoreOptions options = To("restored");
  options.data_dir = fs::relative(options.data_dir);
  const auto restored = RestoreBackup(options);
  EXPECT_TRUE(restored.ok()) << restored.status();
  EXPECT_TRUE(Open(temp_.File("restored"), Later()).ok());
}

TEST_F(BackupTest, IsItsOwnersAlone) {
  GoodBackup();
  EXPECT_EQ(fs::status(plan_.directory).permissions(), fs::perms::owner_all);
}

TEST_F(BackupTest, RestoresEveryRecordByteForByte) {
  std::mt19937_64 random(4711);
  std::map<int, Record> put;
  for (int i = 0; i < kRecords; ++i) {
    put[i] = AnyRecord(random);
    ASSERT_TRUE(PutRecord(*store_, PlaceOf(i), put[i]).ok());
  }
  const StoreIdentity before = store_->identity();
  GoodBackup();
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(kRecords), FullCommitted()).ok());
  const RestoreReport report = RestoreAndOpen("restored");
  EXPECT_EQ(report.backup_id, 1U);
  EXPECT_EQ(report.cut_time, cut_);
  EXPECT_EQ(report.keys, static_cast<std::uint64_t>(kRecords));
  EXPECT_EQ(report.old_epoch, before.epoch);
  EXPECT_EQ(report.new_epoch, store_->identity().epoch);
  EXPECT_FALSE(report.new_epoch == before.epoch);
  EXPECT_EQ(store_->identity().hash_seed, before.hash_seed);
  for (int i = 0; i < kRecords; ++i) EXPECT_EQ(*FindRecord(*store_, PlaceOf(i)), put[i]) << i;
  EXPECT_EQ(*FindRecord(*store_, PlaceOf(kRecords)), std::nullopt) << "after the cut";
}

TEST_F(BackupTest, HasAllThatWasDurableBeforeItBegan) {
  constexpr int kWriters = 2;
  std::atomic<int> durable[kWriters] = {};
  std::atomic<bool> enough{false};
  const auto write = [&](int writer) {  // Each has a shard of its own.
    for (int i = writer; !enough; i += kWriters) {
      if (!PutRecord(*store_, PlaceOf(i), MinimalCommitted(absl::StrCat(i))).ok()) return;
      durable[writer] = i + 1;
    }
  };
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) writers.emplace_back(write, writer);
  for (int backup = 0; backup < 5; ++backup) {
    const int target = durable[0] + 200;
    while (durable[0] < target || durable[1] < target) std::this_thread::yield();
    const int before[kWriters] = {durable[0], durable[1]};
    const BackupReport made = GoodBackup();
    RestoreOptions options = To(absl::StrCat("restored", backup));
    options.backup_id = made.id;
    const auto restored = RestoreBackup(options);
    ASSERT_TRUE(restored.ok()) << restored.status();
    auto opened =
        RocksStore::Open({.data_dir = options.data_dir, .wall_now = Later(), .random = random_});
    ASSERT_TRUE(opened.ok()) << opened.status();
    for (int writer = 0; writer < kWriters; ++writer) {
      for (int i = writer; i < before[writer]; i += kWriters) {
        ASSERT_TRUE(FindRecord(**opened, PlaceOf(i))->has_value()) << i;
      }
    }
  }
  enough = true;
  for (std::thread& writer : writers) writer.join();
}

TEST_F(BackupTest, CommittedIsReplayedAndExpiredStaysExpired) {
  Record committed = FullCommitted();
  auto& result = std::get<Committed>(committed.phase);
  result.expire_time = Later() + absl::Hours(1);
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), committed).ok());
  result.expire_time = TestStart() + absl::Minutes(1);
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(1), committed).ok());
  GoodBackup();
  RestoreAndOpen("restored");
  const Reply reply = Ask(0, ReserveOp{.fingerprint = committed.fingerprint});
  ASSERT_TRUE(std::holds_alternative<Replayed>(reply));
  EXPECT_EQ(std::get<Replayed>(reply).result, result.result);
  EXPECT_EQ(StateAt(1), State::kAbsent);
}

// ---- What is dead ----

TEST_F(BackupTest, WhatWasPendingIsHeldAndItsTokenIsDead) {
  const Record pending = PendingNow(0);
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), pending).ok());
  GoodBackup();
  ASSERT_EQ(StateAt(0), State::kPending);
  RestoreAndOpen("restored");
  EXPECT_EQ(StateAt(0), State::kLapsed);
  const ReserveOp again{.fingerprint = pending.fingerprint,
                        .request_id = std::get<Pending>(pending.phase).request_id};
  EXPECT_TRUE(std::holds_alternative<Unresolved>(Ask(0, again)));
  const Reply refused = Ask(0, CommitOp{.token = pending.token});
  ASSERT_TRUE(std::holds_alternative<Refused>(refused));
  EXPECT_EQ(std::get<Refused>(refused).reason, Refusal::kRestored);
}

TEST_F(BackupTest, EachRestoreHasAnEpochOfItsOwn) {
  GoodBackup();
  const RestoreReport first = RestoreAndOpen("first");
  const RestoreReport second = RestoreAndOpen("second");
  EXPECT_EQ(first.old_epoch, second.old_epoch);
  EXPECT_FALSE(first.new_epoch == second.new_epoch);
}

TEST_F(BackupTest, FencesGoOnAboveAllThatWereHandedOut) {
  GoodBackup();
  Fence last;  // Handed out after the backup, by a clock that is right, at once.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(RunUnit(*store_, {PlaceOf(0)}, [&](UnitOfWork& work) {
                  last = work.NextFence({0}, Later());
                  work.Put({0}, MinimalPending(last));
                }).ok());
  }
  const RestoreReport report = RestoreAndOpen("restored");
  const Fence next = NextFenceOf(*store_, PlaceOf(0), Later());
  EXPECT_GT(next, last);
  EXPECT_GT(next, report.fence_floor);
  EXPECT_GT(NextFenceOf(*store_, PlaceOf(1), Later()), report.fence_floor);
}

TEST_F(BackupTest, AFenceFloorIsKept) {
  GoodBackup();
  RestoreOptions options = To("restored");
  const std::int64_t floor = absl::ToUnixMicros(TestStart() + absl::Hours(24 * 3650));
  options.fence_floor = floor;
  ASSERT_TRUE(RestoreBackup(options).ok());
  ASSERT_TRUE(Open(options.data_dir, Later()).ok());
  EXPECT_EQ(NextFenceOf(*store_, PlaceOf(0), Later()), Fence{floor + 1});
}

TEST_F(BackupTest, TimeGoesOnFromTheWallClock) {
  GoodBackup();
  RestoreAndOpen("restored");
  EXPECT_EQ(store_->clock_mark(), Later());
}

TEST_F(BackupTest, AWallClockBehindTheBackupIsRefusedAndNothingIsMade) {
  cut_ = TestStart() + absl::Hours(3);
  GoodBackup();
  RestoreOptions options = To("restored");
  const absl::Status status = RestoreBackup(options).status();
  EXPECT_THAT(status, Fails(absl::StatusCode::kFailedPrecondition, "behind the backup"));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::FormatTime(Later(), absl::UTCTimeZone())),
                    HasSubstr(absl::FormatTime(cut_, absl::UTCTimeZone()))));
  EXPECT_FALSE(fs::exists(options.data_dir));
  options.wall_now = cut_;
  EXPECT_TRUE(RestoreBackup(options).ok());
}

// ---- Where it may go ----

TEST_F(BackupTest, OnlyAVacantDirectoryIsRestoredTo) {
  GoodBackup();
  RestoreOptions options = To("strange");
  fs::create_directory(options.data_dir);
  WriteFile(options.data_dir + "/letter", "dear");
  EXPECT_THAT(RestoreBackup(options).status(),
              Fails(absl::StatusCode::kFailedPrecondition, "holds \"letter\""));
  EXPECT_EQ(ReadFile(options.data_dir + "/letter"), "dear");
  options.data_dir = data_;
  EXPECT_THAT(RestoreBackup(options).status(),
              Fails(absl::StatusCode::kFailedPrecondition, "in use"));
  store_.reset();
  EXPECT_THAT(RestoreBackup(options).status(),
              Fails(absl::StatusCode::kFailedPrecondition, "holds a store"));
  EXPECT_TRUE(Open(data_, TestStart()).ok());
}

TEST_F(BackupTest, AStoreAndItsBackupsLieApart) {
  GoodBackup();
  store_.reset();
  fs::create_directory_symlink(plan_.directory, temp_.File("link"));
  for (const std::string& directory :
       {plan_.directory, plan_.directory + "/private/store", plan_.directory + "/../backups/new",
        temp_.File("link/new"), fs::path(plan_.directory).parent_path().string()}) {
    SCOPED_TRACE(directory);
    RestoreOptions options = To("restored");
    options.data_dir = directory;
    EXPECT_THAT(RestoreBackup(options).status(),
                Fails(absl::StatusCode::kFailedPrecondition, "must not be the backup directory"));
  }
  EXPECT_TRUE(RestoreBackup(To("backups2")).ok());
}

TEST_F(BackupTest, WhereThereIsNoBackupItSaysSo) {
  RestoreOptions options = To("restored");
  EXPECT_THAT(RestoreBackup(options).status(),
              Fails(absl::StatusCode::kNotFound, "there is no backup in it"));
  EXPECT_FALSE(fs::exists(plan_.directory));
  GoodBackup();
  options.backup_id = 7;
  EXPECT_THAT(RestoreBackup(options).status(),
              Fails(absl::StatusCode::kNotFound, "there is no backup 7 in it; the newest is 1"));
  EXPECT_FALSE(fs::exists(options.data_dir));
}

// As a crash leaves it, wherever that came.
TEST_F(BackupTest, ARestoreThatDidNotEndIsNoStoreAndCanBeRunAgain) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  GoodBackup();
  store_.reset();
  const auto expect_mended = [&](const std::string& name) {
    SCOPED_TRACE(name);
    EXPECT_THAT(Open(temp_.File(name), Later()),
                Fails(absl::StatusCode::kFailedPrecondition, "run the same onced restore again"));
    RestoreAndOpen(name);
    EXPECT_EQ(*FindRecord(*store_, PlaceOf(0)), FullCommitted());
    store_.reset();
    EXPECT_FALSE(fs::exists(temp_.File(name) + "/RESTORING"));
    EXPECT_FALSE(fs::exists(temp_.File(name) + "/000099.sst"));
  };
  const auto staging = BeginRestore(temp_.File("begun"));
  ASSERT_TRUE(staging.ok());
  expect_mended("begun");

  // Half copied.
  fs::create_directories(temp_.File("copied/RESTORING"));
  WriteFile(temp_.File("copied/RESTORING/000099.sst"), "half");
  WriteFile(temp_.File("copied/RESTORING/CURRENT"), "MANIFEST-000001\n");
  expect_mended("copied");

  // All moved up, also what makes it a store: still with the old epoch, perhaps.
  RestoreAndOpen("moved");
  store_.reset();
  fs::create_directories(temp_.File("moved/RESTORING"));
  WriteFile(temp_.File("moved/000099.sst"), "stale");
  expect_mended("moved");
}

// Fails every operation from the n-th on, as the end of the process would.
class EndingEnv final : public rocksdb::EnvWrapper {
 public:
  explicit EndingEnv(int operations) : EnvWrapper(rocksdb::Env::Default()), left_(operations) {}
  const char* Name() const override { return "EndingEnv"; }
  rocksdb::Status NewSequentialFile(const std::string& name,
                                    std::unique_ptr<rocksdb::SequentialFile>* file,
                                    const rocksdb::EnvOptions& options) override {
    return Ended() ? Gone() : EnvWrapper::NewSequentialFile(name, file, options);
  }
  rocksdb::Status NewRandomAccessFile(const std::string& name,
                                      std::unique_ptr<rocksdb::RandomAccessFile>* file,
                                      const rocksdb::EnvOptions& options) override {
    return Ended() ? Gone() : EnvWrapper::NewRandomAccessFile(name, file, options);
  }
  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    return Ended() ? Gone() : EnvWrapper::NewWritableFile(name, file, options);
  }
  rocksdb::Status NewRandomRWFile(const std::string& name,
                                  std::unique_ptr<rocksdb::RandomRWFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    return Ended() ? Gone() : EnvWrapper::NewRandomRWFile(name, file, options);
  }
  rocksdb::Status NewDirectory(const std::string& name,
                               std::unique_ptr<rocksdb::Directory>* directory) override {
    return Ended() ? Gone() : EnvWrapper::NewDirectory(name, directory);
  }
  rocksdb::Status RenameFile(const std::string& from, const std::string& to) override {
    return Ended() ? Gone() : EnvWrapper::RenameFile(from, to);
  }
  rocksdb::Status LockFile(const std::string& name, rocksdb::FileLock** lock) override {
    return Ended() ? Gone() : EnvWrapper::LockFile(name, lock);
  }

 private:
  bool Ended() { return left_.fetch_sub(1) <= 0; }
  static rocksdb::Status Gone() { return rocksdb::Status::IOError("fake: it has ended"); }

  std::atomic<int> left_;
};

TEST_F(BackupTest, WhereverARestoreEndsItCanBeRunAgain) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  GoodBackup();
  store_.reset();
  int refused = 0;
  for (int operations = 1;; operations += 1 + operations / 8) {
    SCOPED_TRACE(absl::StrCat(operations, " operations"));
    const std::string directory = temp_.File(absl::StrCat("restored", operations));
    EndingEnv env(operations);
    RestoreOptions options = To(absl::StrCat("restored", operations));
    options.env = &env;
    const absl::Status ended = RestoreBackup(options).status();
    if (fs::exists(directory + "/RESTORING")) {
      ++refused;
      ASSERT_FALSE(ended.ok());
      EXPECT_THAT(Open(directory, Later()),
                  Fails(absl::StatusCode::kFailedPrecondition, "run the same onced restore again"));
    } else if (!ended.ok()) {
      EXPECT_FALSE(HoldsDatabase(directory)) << "nothing was begun";
    }
    if (ended.ok()) break;
    RestoreAndOpen(absl::StrCat("restored", operations));
    EXPECT_EQ(*FindRecord(*store_, PlaceOf(0)), FullCommitted());
    store_.reset();
  }
  EXPECT_GT(refused, 5);
}

TEST_F(BackupTest, WhatIsMovedUpIsOutOfTheWayOfADamagedStore) {
  // The other order would leave CURRENT among half of the files.
  const auto staging = BeginRestore(temp_.File("dir"));
  ASSERT_TRUE(staging.ok());
  for (const char* name : {"CURRENT", "a", "LOCK"}) WriteFile(*staging + "/" + name, name);
  WriteFile(temp_.File("dir/LOCK"), "mine");
  ASSERT_TRUE(EndRestore(temp_.File("dir")).ok());
  EXPECT_EQ(ReadFile(temp_.File("dir/CURRENT")), "CURRENT");
  EXPECT_EQ(ReadFile(temp_.File("dir/a")), "a");
  EXPECT_EQ(ReadFile(temp_.File("dir/LOCK")), "mine");
  EXPECT_FALSE(fs::exists(temp_.File("dir/RESTORING")));
}

// Not the operator's mistake: `onced restore` says that it can be run again.
TEST_F(BackupTest, AFailureToMoveIsNoRefusal) {
  const auto staging = BeginRestore(temp_.File("dir"));
  ASSERT_TRUE(staging.ok());
  WriteFile(*staging + "/a", "a");
  EXPECT_THAT(EndRestore(temp_.File("dir")), Fails(absl::StatusCode::kUnavailable, "CURRENT"));
  EXPECT_TRUE(fs::exists(temp_.File("dir/RESTORING")));
}

// ---- Damage ----

// One flipped bit in each file of a backup, at its start, in its middle and at
// its end: refused, with its name, before anything is written.
TEST_F(BackupTest, ADamagedBackupIsNotRestored) {
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(PutRecord(*store_, PlaceOf(i), FullCommitted()).ok());
  }
  GoodBackup();
  store_.reset();
  std::set<std::string> kinds;
  for (const fs::path& file : FilesBelow(plan_.directory)) {
    const std::string name = file.filename();
    if (name == "LOCK") continue;
    const bool is_list = file.parent_path().filename() == "meta";
    kinds.insert(is_list ? "meta" : name.substr(0, name.find('-')));
    const std::string whole = ReadFile(file);
    for (const std::size_t at : {std::size_t{0}, whole.size() / 2, whole.size() - 2}) {
      if (whole.size() < 3) continue;
      // The list's first line is a time that nobody reads.
      if (is_list && at < whole.find('\n')) continue;
      SCOPED_TRACE(absl::StrCat(file.string(), " at ", at));
      Flip(file, at);
      const absl::Status status = RestoreBackup(To("restored")).status();
      EXPECT_THAT(status, Fails(absl::StatusCode::kDataLoss, "backup 1 is damaged"));
      if (!is_list) {
        EXPECT_THAT(std::string(status.message()), HasSubstr(name));
      }
      EXPECT_FALSE(fs::exists(temp_.File("restored")));
      WriteFile(file, whole);
    }
    fs::remove(file);
    EXPECT_FALSE(RestoreBackup(To("restored")).ok()) << "without " << file;
    WriteFile(file, whole);
  }
  EXPECT_GE(kinds.size(), 4U) << testing::PrintToString(kinds);
  EXPECT_TRUE(RestoreBackup(To("restored")).ok());
}

TEST_F(BackupTest, AnOlderBackupIsTakenOnlyIfItIsNamed) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  GoodBackup();
  GoodBackup();
  fs::path list(plan_.directory + "/meta/2");
  Flip(list, ReadFile(list).find("private/2/"));
  EXPECT_THAT(RestoreBackup(To("restored")).status(),
              Fails(absl::StatusCode::kDataLoss, "backup 2 is damaged"));
  RestoreOptions options = To("restored");
  options.backup_id = 1;
  EXPECT_TRUE(RestoreBackup(options).ok());
}

// RocksDB's engine would end the process: at the start, at the next backup, and in
// a restore of either.
TEST_F(BackupTest, ListsThatContradictEachOtherAreNotShownToTheEngine) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  GoodBackup();
  GoodBackup();
  const fs::path list(plan_.directory + "/meta/2");
  const std::string whole = ReadFile(list);
  const std::string first = ReadFile(plan_.directory + "/meta/1");
  const std::size_t begin = first.find("shared_checksum/");
  ASSERT_NE(begin, std::string::npos);
  const std::string shared = first.substr(begin, first.find(' ', begin) - begin);
  const std::size_t path = whole.find(shared);
  ASSERT_NE(path, std::string::npos);
  const std::size_t last = whole.find('\n', path) - 1;
  ASSERT_TRUE(absl::ascii_isdigit(whole[last]));
  // Another digit; none, where that is '0', so that the number is a shorter one.
  for (const char damaged : {static_cast<char>(whole[last] ^ 1), ' '}) {
    SCOPED_TRACE(damaged);
    std::string bytes = whole;
    bytes[last] = damaged;
    WriteFile(list, bytes);
    const std::string why = absl::StrCat("meta/1 and meta/2 give different checksums of ", shared);
    EXPECT_THAT(Backup().status(), Fails(absl::StatusCode::kDataLoss, why));
    EXPECT_THAT(RestoreBackup(To("restored")).status(), Fails(absl::StatusCode::kDataLoss, why));
    EXPECT_EQ(FindNewestBackup(plan_.directory), std::nullopt);
    EXPECT_FALSE(fs::exists(temp_.File("restored")));
  }
  // As it says.
  fs::rename(list, temp_.File("2"));
  EXPECT_TRUE(RestoreBackup(To("restored")).ok());
}

TEST_F(BackupTest, ANumberThatLeavesNoneForTheNextBackupIsRefused) {
  GoodBackup();
  for (const char* id : {"4294967293", "4294967294", "4294967295"}) {
    SCOPED_TRACE(id);
    const std::string list = absl::StrCat(plan_.directory, "/meta/", id);
    WriteFile(list, ReadFile(plan_.directory + "/meta/1"));
    const std::string why = absl::StrCat("meta/", id, " is no backup that onced made");
    EXPECT_THAT(Backup().status(), Fails(absl::StatusCode::kFailedPrecondition, why));
    EXPECT_THAT(RestoreBackup(To("restored")).status(),
                Fails(absl::StatusCode::kFailedPrecondition, why));
    EXPECT_EQ(FindNewestBackup(plan_.directory), std::nullopt);
    fs::remove(list);
  }
  EXPECT_EQ(GoodBackup().id, 2U);
}

fs::path FindData(const std::string& directory) {
  for (const fs::path& file : FilesBelow(directory)) {
    if (file.extension() == ".sst" && fs::file_size(file) > 1'500) return file;
  }
  return {};
}

// An incremental backup shares a data file with an earlier one.
TEST_F(BackupTest, ADamagedSharedFileIsNotTrusted) {
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(PutRecord(*store_, PlaceOf(i), FullCommitted()).ok());
  }
  GoodBackup();
  const fs::path shared = FindData(plan_.directory + "/shared_checksum");
  ASSERT_FALSE(shared.empty());
  const std::string whole = ReadFile(shared);
  Flip(shared, whole.size() / 3);
  const absl::Status status = Backup().status();
  EXPECT_THAT(status, Fails(absl::StatusCode::kDataLoss, shared.filename().string()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("move the directory away"));
  EXPECT_FALSE(fs::exists(plan_.directory + "/meta/2")) << "deleted";
  EXPECT_FALSE(fs::exists(plan_.directory + "/UNVERIFIED"));
  fs::rename(plan_.directory, temp_.File("away"));
  GoodBackup();
}

// What was damaged before it was copied has a good checksum of its copy.
TEST_F(BackupTest, ADamagedStoreMakesNoBackup) {
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(PutRecord(*store_, PlaceOf(i), FullCommitted()).ok());
  }
  ASSERT_TRUE(CompactShard(*store_, {0}).ok());
  const fs::path file = FindData(data_);
  ASSERT_FALSE(file.empty());
  Flip(file, fs::file_size(file) / 3);
  EXPECT_THAT(Backup().status(), Fails(absl::StatusCode::kDataLoss, "damaged, and was deleted"));
  EXPECT_EQ(FindNewestBackup(plan_.directory), std::nullopt);
}

// ---- Operation ----

TEST_F(BackupTest, KeepsTheNewest) {
  plan_.keep = 2;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(PutRecord(*store_, PlaceOf(i), FullCommitted()).ok());
    GoodBackup();
  }
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(plan_.directory + "/meta")) {
    left.insert(entry.path().filename());
  }
  EXPECT_EQ(left, (std::set<std::string>{"4", "5"}));
  plan_.keep = 0;
  for (int i = 0; i < 3; ++i) GoodBackup();
  EXPECT_TRUE(fs::exists(plan_.directory + "/meta/4"));
  RestoreAndOpen("restored");
  EXPECT_TRUE(FindRecord(*store_, PlaceOf(4))->has_value());
}

TEST_F(BackupTest, WhatACrashLeftUnverifiedIsRemoved) {
  GoodBackup();
  GoodBackup();
  WriteFile(plan_.directory + "/UNVERIFIED", "1\n");  // As if it had come before the verdict on 2.
  EXPECT_EQ(FindNewestBackup(plan_.directory)->id, 1U);
  fs::create_directories(plan_.directory + "/private/9");  // Half copied.
  WriteFile(plan_.directory + "/private/9/CURRENT", "half");
  GoodBackup();
  EXPECT_FALSE(fs::exists(plan_.directory + "/private/9"));
  EXPECT_FALSE(fs::exists(plan_.directory + "/UNVERIFIED"));
  std::size_t backups = 0;
  for (const auto& entry : fs::directory_iterator(plan_.directory + "/meta")) {
    backups += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(backups, 2U);
  RestoreAndOpen("restored");
}

// "1" may be the half of "12": backups from before it are never removed for it.
TEST_F(BackupTest, ATornMarkRemovesNothingThatIsWhole) {
  for (int i = 0; i < 3; ++i) GoodBackup();
  std::uint32_t newest = 3;
  for (const char* torn : {"", "1", "1\n2", "\n", "-1\n", "one\n", "99999999999\n"}) {
    SCOPED_TRACE(torn);
    WriteFile(plan_.directory + "/UNVERIFIED", torn);
    EXPECT_EQ(FindNewestBackup(plan_.directory)->id, newest - 1) << "the newest may be unverified";
    EXPECT_EQ(GoodBackup().id, ++newest);
    EXPECT_FALSE(fs::exists(plan_.directory + "/UNVERIFIED"));
    for (std::uint32_t id = newest > 7 ? newest - 6 : 1; id <= newest; ++id) {
      EXPECT_TRUE(fs::exists(absl::StrCat(plan_.directory, "/meta/", id))) << id;
    }
  }
}

TEST_F(BackupTest, ATornMarkHasTheNewestVerifiedAgain) {
  GoodBackup();
  GoodBackup();
  const std::string file = absl::StrCat(plan_.directory, "/private/2/CURRENT");
  ASSERT_TRUE(fs::exists(file));
  Flip(file, 0);
  WriteFile(plan_.directory + "/UNVERIFIED", "");
  const BackupReport made = GoodBackup();
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(plan_.directory + "/meta")) {
    left.insert(entry.path().filename());
  }
  EXPECT_EQ(left, (std::set<std::string>{"1", absl::StrCat(made.id)}));
  RestoreAndOpen("restored");
}

TEST_F(BackupTest, AMarkBeforeTheFirstBackupLeavesNoneToFind) {
  GoodBackup();
  WriteFile(plan_.directory + "/UNVERIFIED", "0\n");
  EXPECT_EQ(FindNewestBackup(plan_.directory), std::nullopt);
}

TEST_F(BackupTest, AnotherStoresDirectoryIsRefused) {
  GoodBackup();
  ASSERT_TRUE(Open(temp_.File("other"), TestStart()).ok());
  EXPECT_THAT(Backup().status(), Fails(absl::StatusCode::kFailedPrecondition, "not of this store"));
}

TEST_F(BackupTest, ARestoredStoreGoesOnInTheSameDirectory) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  GoodBackup();
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(1), FullCommitted()).ok());
  GoodBackup();
  store_.reset();
  RestoreOptions options = To("first");
  options.backup_id = 1;
  ASSERT_TRUE(RestoreBackup(options).ok());
  ASSERT_TRUE(Open(options.data_dir, Later()).ok());
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(2), FullCommitted()).ok());
  GoodBackup();
  RestoreAndOpen("second");
  EXPECT_TRUE(FindRecord(*store_, PlaceOf(0))->has_value());
  EXPECT_FALSE(FindRecord(*store_, PlaceOf(1))->has_value());
  EXPECT_TRUE(FindRecord(*store_, PlaceOf(2))->has_value());
}

// A restore drill, in the directory that the store goes on to use.
TEST_F(BackupTest, OfTwoStoresFromTheSameBackupsOneKeepsTheDirectory) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  GoodBackup();
  RestoreAndOpen("drill");
  GoodBackup();
  store_.reset();
  ASSERT_TRUE(Open(data_, TestStart()).ok());
  const absl::Status refused = Backup().status();
  EXPECT_THAT(refused,
              Fails(absl::StatusCode::kFailedPrecondition, "backup 2 in it is of another"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("name another directory as backup_dir"));
  const std::string shared = plan_.directory;
  plan_.directory = temp_.File("another");
  GoodBackup();
  plan_.directory = shared;
  ASSERT_TRUE(Open(temp_.File("drill"), Later()).ok());
  EXPECT_EQ(GoodBackup().id, 3U);
}

TEST_F(BackupTest, WhatCanNotBeADirectoryIsRefused) {
  WriteFile(plan_.directory, "a file");
  EXPECT_THAT(Backup().status(),
              Fails(absl::StatusCode::kFailedPrecondition, "is not a directory"));
}

TEST_F(BackupTest, TooLittleSpaceIsAnErrorOfTheBackupAlone) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  plan_.reserve_bytes = std::uint64_t{1} << 60;
  EXPECT_THAT(Backup().status(), Fails(absl::StatusCode::kResourceExhausted, "disk_floor"));
  EXPECT_TRUE(PutRecord(*store_, PlaceOf(1), FullCommitted()).ok());
  plan_.reserve_bytes = 0;
  GoodBackup();
}

TEST_F(BackupTest, KeepingFewerMakesRoomOnAFullDisk) {
  plan_.keep = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(PutRecord(*store_, PlaceOf(i), FullCommitted()).ok());
    GoodBackup();
  }
  plan_.keep = 2;
  plan_.reserve_bytes = std::uint64_t{1} << 60;
  EXPECT_THAT(Backup().status(), Fails(absl::StatusCode::kResourceExhausted, "lower backup_keep"));
  EXPECT_FALSE(fs::exists(plan_.directory + "/meta/2"));
  EXPECT_TRUE(fs::exists(plan_.directory + "/meta/3"));
  EXPECT_EQ(FindNewestBackup(plan_.directory)->id, 4U);
  plan_.keep = 1;
  EXPECT_FALSE(Backup().ok());
  EXPECT_EQ(FindNewestBackup(plan_.directory)->id, 4U) << "the last one stays";
}

TEST_F(BackupTest, AStopEndsItAndLeavesNothing) {
  ASSERT_TRUE(PutRecord(*store_, PlaceOf(0), FullCommitted()).ok());
  GoodBackup();
  stop_ = true;
  EXPECT_THAT(Backup().status(), Fails(absl::StatusCode::kCancelled, "shutting down"));
  stop_ = false;
  EXPECT_EQ(FindNewestBackup(plan_.directory)->id, 1U);
  GoodBackup();
}

TEST(BackupOfAFailedStore, IsRefused) {
  const TempDir temp;
  SystemRandom random;
  FailingEnv env;
  auto store = RocksStore::Open({.data_dir = temp.File("data"),
                                 .shards = 1,
                                 .wall_now = TestStart(),
                                 .random = random,
                                 .env = &env});
  ASSERT_TRUE(store.ok());
  env.fail_syncs = true;
  EXPECT_FALSE(PutRecord(**store, {{0}, {"ns", "k"}}, FullCommitted()).ok());
  const std::atomic<bool> stop{false};
  EXPECT_THAT((*store)->Backup({.directory = temp.File("b")}, TestStart(), stop).status(),
              Fails(absl::StatusCode::kUnavailable, "opened anew"));
}

}  // namespace
}  // namespace onced
