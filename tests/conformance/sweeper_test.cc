// What the sweeper gives back, and what it leaves alone. No shard is written to
// after its records: all of them are idle.
#include "server/storage/rocksdb/sweeper.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/believed_clock.h"
#include "server/base/mutex.h"
#include "server/base/quiet_telemetry.h"
#include "server/base/random.h"
#include "server/storage/codec/record_codec.h"
#include "tests/conformance/failing_env.h"
#include "tests/conformance/raw_rocks.h"
#include "tests/conformance/store_calls.h"
#include "tests/conformance/temp_dir.h"
#include "tests/support/fake_clock.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

constexpr std::uint32_t kShards = 2;
constexpr absl::Duration kGrace = absl::Hours(1);
constexpr std::uint64_t kAnyRate = std::numeric_limits<std::uint64_t>::max();

// Counts what sweeps report, and tells who waits for it.
class SweepTelemetry final : public QuietTelemetry {
 public:
  void Rewritten(std::uint64_t bytes, std::uint64_t given_back) override {
    MutexLock lock(mutex_);
    ++rewrites_;
    rewritten_ += bytes;
    given_back_ += given_back;
  }
  void Swept(absl::string_view error) override {
    MutexLock lock(mutex_);
    ++sweeps_;
    errors_ += error.empty() ? 0 : 1;
    swept_.NotifyAll();
  }

  int rewrites() {
    MutexLock lock(mutex_);
    return rewrites_;
  }
  std::uint64_t rewritten() {
    MutexLock lock(mutex_);
    return rewritten_;
  }
  std::uint64_t given_back() {
    MutexLock lock(mutex_);
    return given_back_;
  }
  int errors() {
    MutexLock lock(mutex_);
    return errors_;
  }
  void AwaitSweeps(int count) {
    MutexLock lock(mutex_);
    while (sweeps_ < count) swept_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar swept_;
  int sweeps_ ABSL_GUARDED_BY(mutex_) = 0;
  int errors_ ABSL_GUARDED_BY(mutex_) = 0;
  int rewrites_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t rewritten_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t given_back_ ABSL_GUARDED_BY(mutex_) = 0;
};

class SweeperTest : public testing::Test {
 protected:
  ~SweeperTest() override { Close(); }

  RocksStore::Options Defaults() {
    return {.data_dir = directory_,
            .shards = kShards,
            .reclaim_grace = kGrace,
            .wall_now = clock_.Now(),
            .random = random_,
            .env = &env_};
  }
  void Open(const RocksStore::Options& options) {
    Close();
    auto opened = RocksStore::Open(options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    sweep_ = std::make_unique<Sweep>(*store_, *store_, clock_, telemetry_, kAnyRate);
  }
  void Open() { Open(Defaults()); }
  void Close() {
    sweep_.reset();
    store_.reset();
  }

  // What had been in memory is in files after the second one.
  void SweepTwice() {
    ASSERT_TRUE(sweep_->Run().ok());
    ASSERT_TRUE(sweep_->Run().ok());
  }
  std::uint64_t FileBytes() {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < kShards; ++i) bytes += store_->space().BytesOf({i});
    return bytes;
  }
  // As du counts.
  std::uint64_t DiskBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      struct stat found {};
      if (stat(entry.path().c_str(), &found) == 0) bytes += found.st_blocks * 512;
    }
    return bytes;
  }

  static Place At(int i) {
    return {{static_cast<std::uint32_t>(i) % kShards}, {"ns", absl::StrCat("key", 100'000 + i)}};
  }
  static Record ExpiresAt(absl::Time time, int i = 0) {
    Record record = MinimalCommitted(absl::StrCat(i, std::string(500, 'b'), i * 7919));
    std::get<Committed>(record.phase).expire_time = time;
    return record;
  }
  // Records number `from` to `to`, `make(i)` each; nothing: erases. In one sync a
  // thousand.
  void Put(int from, int to, const std::function<std::optional<Record>(int)>& make) {
    constexpr int kUnit = 1'000;
    for (int at = from; at < to; at += kUnit) {
      const int end = std::min(at + kUnit, to);
      std::vector<Place> places;
      for (int i = at; i < end; ++i) places.push_back(At(i));
      ASSERT_TRUE(RunUnit(*store_, places, [&](UnitOfWork& work) {
                    for (int i = at; i < end; ++i) {
                      const std::optional<Record> record = make(i);
                      const UnitOfWork::Slot slot{static_cast<std::size_t>(i - at)};
                      record.has_value() ? work.Put(slot, *record) : work.Erase(slot);
                    }
                  }).ok());
    }
  }
  void Put(int from, int to, absl::Time expires_at) {
    Put(from, to, [&](int i) { return ExpiresAt(expires_at, i); });
  }
  bool IsThere(int i) {
    const auto found = FindRecord(*store_, At(i));
    return !found.ok() || found->has_value();
  }
  // Lapses two minutes after TestStart(), and is then kept for a minute.
  Record Lapses(OnLapse on_lapse) {
    Record record = MinimalPending();
    record.token.epoch = store_->identity().epoch;
    std::get<Pending>(record.phase).on_lapse = on_lapse;
    std::get<Pending>(record.phase).lapsed_retention = absl::Minutes(1);
    return record;
  }
  // The sweeps from now on rewrite nothing, though they look.
  void ExpectAtRest() {
    const int before = telemetry_.rewrites();
    SweepTwice();
    EXPECT_EQ(telemetry_.rewrites(), before);
  }

  SystemRandom random_;
  FakeClock clock_{TestStart()};
  FailingEnv env_;
  SweepTelemetry telemetry_;
  const TempDir temp_;
  const std::string directory_ = temp_.File("data");
  std::unique_ptr<RocksStore> store_;
  std::unique_ptr<Sweep> sweep_;
};

TEST_F(SweeperTest, GivesBackWhatExpiredBeyondTheGrace) {
  Open();
  Put(0, 2'000, TestStart() + absl::Minutes(1));
  SweepTwice();
  EXPECT_GT(FileBytes(), 0U);
  clock_.Set(TestStart() + absl::Minutes(1) + kGrace - absl::Microseconds(1));
  SweepTwice();
  for (int i = 0; i < 2'000; ++i) ASSERT_TRUE(IsThere(i)) << i;
  clock_.Advance(absl::Microseconds(1));
  ASSERT_TRUE(sweep_->Run().ok());
  EXPECT_EQ(FileBytes(), 0U);
  EXPECT_GT(telemetry_.given_back(), 0U);
  EXPECT_EQ(telemetry_.rewritten(), telemetry_.given_back());
  EXPECT_EQ(sweep_->useless_bytes(), 0U);
  EXPECT_EQ(sweep_->last_ended(), clock_.Now());
  for (int i = 0; i < 2'000; ++i) ASSERT_FALSE(IsThere(i)) << i;
  ExpectAtRest();
}

TEST_F(SweeperTest, RaisesTheMarkAndNeverBeyondTheClock) {
  Open();
  clock_.Advance(absl::Hours(5));
  ASSERT_TRUE(sweep_->Run().ok());
  EXPECT_EQ(store_->clock_mark(), TestStart() + absl::Hours(5));
  clock_.Advance(-absl::Hours(1));
  ASSERT_TRUE(sweep_->Run().ok());
  EXPECT_EQ(store_->clock_mark(), TestStart() + absl::Hours(5));
}

TEST_F(SweeperTest, LeavesWhatIsAliveByteForByte) {
  Open();
  Put(0, 1'000, [](int i) {
    const absl::Duration life = i % 3 != 0 ? absl::Minutes(1) : absl::Hours(1'000);
    return ExpiresAt(TestStart() + life, i);
  });
  SweepTwice();
  const std::uint64_t before = FileBytes();
  clock_.Advance(absl::Hours(2));
  SweepTwice();
  EXPECT_LT(FileBytes(), before / 2);
  for (int i = 0; i < 1'000; ++i) {
    const auto found = FindRecord(*store_, At(i));
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->has_value(), i % 3 == 0) << i;
    if (!found->has_value()) continue;
    ASSERT_EQ(**found, ExpiresAt(TestStart() + absl::Hours(1'000), i));
  }
  ExpectAtRest();
}

TEST_F(SweeperTest, WaitsUntilAQuarterOfThePieceHasExpired) {
  Open();
  Put(0, 1'600, TestStart() + absl::Hours(1'000));
  Put(1'600, 1'800, TestStart() + absl::Minutes(1));
  Put(1'800, 2'400, TestStart() + absl::Hours(2));
  SweepTwice();
  clock_.Advance(absl::Minutes(1) + kGrace);  // A twelfth.
  ExpectAtRest();
  EXPECT_GT(sweep_->useless_bytes(), 0U);
  EXPECT_TRUE(IsThere(1'600));
  clock_.Advance(absl::Hours(2));  // A third.
  SweepTwice();
  EXPECT_EQ(sweep_->useless_bytes(), 0U);
  EXPECT_FALSE(IsThere(1'600));
  EXPECT_FALSE(IsThere(1'800));
  EXPECT_TRUE(IsThere(0));
  ExpectAtRest();
}

// ---- Reservations ----

TEST_F(SweeperTest, NeverTakesWhatIsHeldNorLooksAtItAgain) {
  Open();
  Record of_another_epoch = Lapses(OnLapse::kRegrant);
  of_another_epoch.token.epoch.value ^= 1;
  Put(0, 500, [&](int i) { return i % 4 < 2 ? Lapses(OnLapse::kHold) : of_another_epoch; });
  SweepTwice();
  clock_.Advance(absl::Hours(24 * 3650));
  ExpectAtRest();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(IsThere(i)) << i;
}

TEST_F(SweeperTest, TakesALapsedReservationAfterItsRetention) {
  Open();
  Put(0, 100, [&](int) { return Lapses(OnLapse::kRegrant); });
  const absl::Time expiry = TestStart() + absl::Minutes(3);
  clock_.Set(expiry + kGrace - absl::Microseconds(1));
  SweepTwice();
  EXPECT_TRUE(IsThere(0));
  clock_.Advance(absl::Microseconds(1));
  SweepTwice();
  EXPECT_FALSE(IsThere(0));
  EXPECT_EQ(FileBytes(), 0U);
}

TEST_F(SweeperTest, WaitsForTheGraceOfAnOutage) {
  Open();
  Put(0, 100, [&](int) { return Lapses(OnLapse::kRegrant); });
  SweepTwice();
  clock_.Advance(absl::Hours(72));
  auto after_it = Defaults();
  after_it.restart_grace = absl::Hours(2);
  Open(after_it);
  SweepTwice();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(IsThere(i)) << i;
  ExpectAtRest();
  clock_.Advance(absl::Hours(2) + absl::Minutes(1) + kGrace);
  SweepTwice();
  EXPECT_FALSE(IsThere(0));
  EXPECT_EQ(FileBytes(), 0U);
}

// ---- What else files hold ----

TEST_F(SweeperTest, GivesBackWhatReleasedKeysLeaveBehind) {
  Open();
  Put(0, 500, [&](int) { return Lapses(OnLapse::kHold); });
  SweepTwice();
  EXPECT_GT(FileBytes(), 0U);
  Put(0, 500, [](int) { return std::nullopt; });
  SweepTwice();
  EXPECT_EQ(FileBytes(), 0U);
  ExpectAtRest();
}

TEST_F(SweeperTest, RewritesFilesOfAnOlderVersionOnce) {
  Open();
  Put(0, 100, TestStart() + absl::Hours(1'000));
  Close();
  // Whoever opens the store without our options writes its log to such files.
  RawPut(directory_, "shard-0000", EncodeKey(At(0).key), EncodeRecord(ExpiresAt(clock_.Now())));
  Open();
  SweepTwice();
  EXPECT_GE(telemetry_.rewrites(), 1);
  EXPECT_EQ(telemetry_.errors(), 0);
  for (int i = 1; i < 100; ++i) ASSERT_TRUE(IsThere(i)) << i;
  ExpectAtRest();
}

TEST_F(SweeperTest, NeverTakesWhatIsDamagedNorRewritesItAgain) {
  Open();
  std::string bytes = EncodeRecord(ExpiresAt(TestStart()));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  Close();
  RawPut(directory_, "shard-0000", EncodeKey(At(0).key), bytes);
  clock_.Advance(absl::Hours(24 * 3650));
  Open();
  SweepTwice();
  EXPECT_TRUE(absl::IsDataLoss(FindRecord(*store_, At(0)).status()));
  ExpectAtRest();
}

TEST_F(SweeperTest, ReturnsToWhatAnEmptyStoreTakes) {
  auto options = Defaults();
  options.memory_budget_bytes = 32 << 20;  // Small logs, so that records show beside them.
  Open(options);
  // Time passes, or the mark would not be written: RocksDB sets space aside for a
  // log with its first entry.
  const auto sweep_often = [&] {
    for (int i = 0; i < 10; ++i) {
      clock_.Advance(absl::Seconds(1));
      ASSERT_TRUE(sweep_->Run().ok());
    }
  };
  sweep_often();
  const std::uint64_t empty = DiskBytes();
  Put(0, 40'000, [&](int i) {
    Record record = ExpiresAt(clock_.Now() + absl::Minutes(1), i);
    record.owner = std::string(100, static_cast<char>('a' + i * 7919 % 26));
    return record;
  });
  sweep_often();
  EXPECT_GT(DiskBytes(), empty + empty / 5);
  clock_.Advance(absl::Hours(2));
  sweep_often();
  EXPECT_LE(DiskBytes(), empty + empty / 10);
  EXPECT_EQ(store_->EstimateKeys(), 0U);
}

// A rewrite of it would be the store's last write: RocksDB takes no more after one
// that failed, and the sweep after the next start would do the same.
TEST_F(SweeperTest, LeavesADamagedFileAloneAndSweepsTheRest) {
  Open();
  Put(0, 2'000, TestStart() + absl::Minutes(1));
  SweepTwice();
  std::filesystem::path largest;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) {
      largest = entry.path();
    }
  }
  ASSERT_FALSE(largest.empty());
  const std::uint64_t damaged_bytes = std::filesystem::file_size(largest);
  {
    std::fstream file(largest, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(damaged_bytes / 3));
    const char flipped = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(damaged_bytes / 3));
    file.put(flipped);
  }
  clock_.Advance(absl::Hours(2));
  for (int sweep = 0; sweep < 2; ++sweep) {
    const absl::Status swept = sweep_->Run();
    EXPECT_TRUE(absl::IsDataLoss(swept)) << swept;
    EXPECT_TRUE(absl::StrContains(swept.message(), largest.filename().string())) << swept;
    EXPECT_TRUE(absl::EndsWith(swept.message(), ": restore a backup")) << swept;
    EXPECT_EQ(FileBytes(), damaged_bytes);
    EXPECT_GT(sweep_->useless_bytes(), 0U);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(PutRecord(*store_, At(10'000 + i), Lapses(OnLapse::kHold)).ok());
    }
  }
  EXPECT_TRUE(store_->FailedEarlier().ok());
}

// ---- The clock ----

class FakeTimeSource final : public TimeSource {
 public:
  TimeReading Read() const override { return {TestStart() + wall, monotonic}; }
  absl::Duration wall;
  absl::Duration monotonic;
};

TEST_F(SweeperTest, TakesNothingAfterAJumpOfTheWallClock) {
  Open();
  Put(0, 100, TestStart() + absl::Hours(24));
  SweepTwice();
  FakeTimeSource time;
  const BelievedClock believed(time, {.last_believed = store_->clock_mark()});
  Sweep sweep(*store_, *store_, believed, telemetry_, kAnyRate);
  time.wall = absl::Hours(24 * 365);
  time.monotonic = absl::Minutes(1);
  ASSERT_TRUE(sweep.Run().ok());
  ASSERT_TRUE(sweep.Run().ok());
  EXPECT_EQ(store_->clock_mark(), TestStart() + absl::Minutes(1));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(IsThere(i)) << i;
}

// ---- Room ----

TEST_F(SweeperTest, BeginsNothingThatMayNeedMoreRoomThanThereIs) {
  auto options = Defaults();
  options.disk_floor_bytes = 1'000'000;
  Open(options);
  Put(0, 2'000, TestStart() + absl::Minutes(1));
  SweepTwice();
  const std::uint64_t before = FileBytes();
  clock_.Advance(absl::Hours(2));
  env_.free_bytes = before / kShards;  // Below the floor, and most of it would be taken.
  EXPECT_TRUE(absl::IsResourceExhausted(sweep_->Run()));
  EXPECT_EQ(FileBytes(), before);
  EXPECT_GT(sweep_->useless_bytes(), 0U);
  env_.free_bytes = 1'000'000 + before;
  EXPECT_TRUE(sweep_->Run().ok());
  EXPECT_EQ(FileBytes(), 0U);
}

TEST_F(SweeperTest, RewritesSmallPiecesBelowTheFloorToo) {
  auto options = Defaults();
  options.disk_floor_bytes = std::uint64_t{1} << 30;
  Open(options);
  Put(0, 200, TestStart() + absl::Minutes(1));
  SweepTwice();
  clock_.Advance(absl::Hours(2));
  env_.free_bytes = 4 * FileBytes();
  EXPECT_TRUE(sweep_->Run().ok());
  EXPECT_EQ(FileBytes(), 0U);
}

// ---- Stopping ----

TEST_F(SweeperTest, StopsInTheMiddleOfARewrite) {
  Open();
  Put(0, 4'000, TestStart() + absl::Hours(1'000));
  Put(4'000, 8'000, TestStart() + absl::Minutes(1));
  SweepTwice();
  clock_.Advance(absl::Hours(2));
  // A shard's rewrite would take half an hour.
  Sweep slow(*store_, *store_, clock_, telemetry_, 1'000);
  absl::Status ended;
  const int tables = env_.tables();
  const int rewrites = telemetry_.rewrites();
  std::thread sweeping([&] { ended = slow.Run(); });
  env_.AwaitTables(tables + 1);
  slow.Stop();
  sweeping.join();
  EXPECT_TRUE(absl::IsCancelled(ended)) << ended;
  EXPECT_TRUE(absl::IsCancelled(slow.Run()));
  EXPECT_EQ(telemetry_.rewrites(), rewrites);
  // The store is none the worse for it.
  for (int i = 0; i < 4'000; ++i) ASSERT_TRUE(IsThere(i)) << i;
  ASSERT_TRUE(PutRecord(*store_, At(4'000), Lapses(OnLapse::kHold)).ok());
  Open();
  SweepTwice();
  EXPECT_TRUE(IsThere(4'000));
  EXPECT_FALSE(IsThere(4'001));
  EXPECT_TRUE(IsThere(0));
}

TEST_F(SweeperTest, SweepsAgainAndAgainByItself) {
  Open();
  Put(0, 100, TestStart() + absl::Minutes(1));
  {
    const Sweeper sweeper(absl::Milliseconds(1), *sweep_, telemetry_);
    telemetry_.AwaitSweeps(2);
    clock_.Advance(absl::Hours(2));
    telemetry_.AwaitSweeps(6);
  }
  EXPECT_EQ(telemetry_.errors(), 0);
  EXPECT_FALSE(IsThere(0));
  EXPECT_EQ(FileBytes(), 0U);
}

TEST_F(SweeperTest, EndsWhileItWaitsForTheNextSweep) {
  Open();
  const Sweeper sweeper(absl::Hours(24), *sweep_, telemetry_);
}

TEST_F(SweeperTest, TellsOfASweepThatFailed) {
  Open();
  env_.fail_syncs = true;
  {
    clock_.Advance(absl::Minutes(1));
    const Sweeper sweeper(absl::Milliseconds(1), *sweep_, telemetry_);
    telemetry_.AwaitSweeps(1);
  }
  EXPECT_GE(telemetry_.errors(), 1);
  env_.fail_syncs = false;
}

}  // namespace
}  // namespace onced
