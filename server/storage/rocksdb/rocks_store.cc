#include "server/storage/rocksdb/rocks_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "rocksdb/db.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/write_batch.h"
#include "server/base/check.h"
#include "server/storage/codec/meta_codec.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/codec/wire.h"
#include "server/storage/rocksdb/backup.h"
#include "server/storage/rocksdb/rocks_database.h"
#include "server/storage/rocksdb/rocks_slice.h"
#include "server/storage/rocksdb/rocks_status.h"
#include "server/storage/rocksdb/watermark_keeper.h"

namespace onced {
namespace {

// Fences are at least the time in microseconds, and no start resumes below the
// durable mark: so one that is below it needn't be stored to be surpassed. Most are:
// only many grants of one shard at one time get ahead of that.
Fence LastCoveredBy(absl::Time durable_mark) { return {absl::ToUnixMicros(durable_mark) - 1}; }

void Deliver(const rocksdb::Status& read, const rocksdb::Slice& bytes, UnitOfWork::Entry& entry) {
  if (read.IsNotFound()) return;
  if (!read.ok()) {
    entry.read_status = FromRocks("reading a record", read);
    return;
  }
  absl::StatusOr<Record> record = DecodeRecord(ViewOf(bytes));
  if (record.ok()) {
    entry.record = *std::move(record);
  } else {
    entry.read_status = record.status();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<RocksStore>> RocksStore::Open(const Options& options) {
  absl::StatusOr<std::unique_ptr<RocksDatabase>> database = OpenRocksDatabase(options);
  if (!database.ok()) return database.status();
  return std::unique_ptr<RocksStore>(new RocksStore(options, *std::move(database)));
}

RocksStore::RocksStore(const Options& options, std::unique_ptr<RocksDatabase> database)
    : sync_(options.durability == Durability::kFsync),
      directory_(options.data_dir),
      disk_floor_bytes_(options.disk_floor_bytes),
      identity_(database->meta.identity),
      outages_(database->meta.outages),
      database_(std::move(database)),
      shards_(identity_.shards),
      watermark_(std::make_unique<WatermarkKeeper>(*database_->db, *database_->file_changes,
                                                   std::move(database_->watermark),
                                                   WatermarkStoreId(identity_), !sync_)),
      clock_mark_us_(StoredTime(database_->meta.clock_mark)),
      committer_(*database_->db, *database_->meta_family, sync_,
                 [this](absl::Status status) { return Wrote(std::move(status)); },
                 {options.telemetry, options.time_source}) {
  const Fence covered = LastCoveredBy(clock_mark());
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    shards_[i].last_fence = std::max(database_->meta.fences[i], covered);
  }
}

RocksStore::~RocksStore() = default;

// 1. read, 2. decide, 3. write and sync, 4. tell: never 4 before 3.
void RocksStore::Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) {
  // RocksDB's counters of what it does, which nobody reads: each comparison has some.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  const absl::Status usable = FailedEarlier();
  Ticket found;
  if (usable.ok()) {
    found = Load(*work);
  } else {
    for (UnitOfWork::Entry& entry : work->entries()) entry.read_status = usable;
  }
  body(*work);
  if (!usable.ok()) return std::move(durable)(usable);
  if (!work->changed()) return committer_.WhenDurable(found, std::move(durable));
  Save(*work, std::move(durable));
}

Ticket RocksStore::Load(UnitOfWork& work) {
  std::vector<std::size_t> others;
  others.reserve(work.entries().size());
  const Ticket found = LoadUnwritten(work, others);
  if (!others.empty()) Read(work, others);
  return found;
}

// What is no longer here can be read from RocksDB: so this comes before that.
Ticket RocksStore::LoadUnwritten(UnitOfWork& work, std::vector<std::size_t>& others) {
  const Ticket written = committer_.durable();
  Ticket found;
  for (std::size_t i = 0; i < work.entries().size(); ++i) {
    UnitOfWork::Entry& entry = work.entries()[i];
    ONCED_CHECK(entry.shard.value < identity_.shards);
    ShardState& shard = shards_[entry.shard.value];
    work.SetLastFence(entry.shard, shard.last_fence);
    shard.unwritten.Forget(written);
    const Unwritten::Change* change = shard.unwritten.Find(entry.key);
    if (change == nullptr) {
      others.push_back(i);
      continue;
    }
    entry.record = change->record;
    entry.durable = change->ticket <= written;
    found = std::max(found, change->ticket);
  }
  return found;
}

void RocksStore::Read(UnitOfWork& work, const std::vector<std::size_t>& which) const {
  std::vector<std::string> keys;
  std::vector<rocksdb::Slice> slices;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  keys.reserve(which.size());  // So that the slices stay valid.
  slices.reserve(which.size());
  families.reserve(which.size());
  for (const std::size_t i : which) {
    const UnitOfWork::Entry& entry = work.entries()[i];
    slices.emplace_back(keys.emplace_back(EncodeKey(entry.key)));
    families.push_back(database_->shard_families[entry.shard.value].get());
  }
  std::vector<rocksdb::PinnableSlice> values(which.size());
  std::vector<rocksdb::Status> statuses(which.size());
  database_->db->MultiGet({}, which.size(), families.data(), slices.data(), values.data(),
                          statuses.data());
  for (std::size_t i = 0; i < which.size(); ++i) {
    Deliver(statuses[i], values[i], work.entries()[which[i]]);
  }
}

// Its records are the next unit's, if that comes before they are written.
void RocksStore::Save(UnitOfWork& work, Durable durable) {
  Committer::Changes changes;
  rocksdb::Status status;
  for (const UnitOfWork::Entry& entry : work.entries()) {
    if (!entry.changed || !status.ok()) continue;
    rocksdb::ColumnFamilyHandle* family = database_->shard_families[entry.shard.value].get();
    status = entry.record.has_value()
                 ? changes.records.Put(family, EncodeKey(entry.key), EncodeRecord(*entry.record))
                 : changes.records.Delete(family, EncodeKey(entry.key));
  }
  // Only a batch or a key of 4 GiB is refused, and none is larger than a drain.
  ONCED_CHECK(status.ok());
  const Fence covered = LastCoveredBy(clock_mark());
  for (const auto& [shard, fence] : work.RaisedFences()) {
    if (fence > covered) changes.meta.emplace_back(FenceKey(shard), EncodeFence(fence));
    shards_[shard.value].last_fence = fence;
  }
  const Ticket ticket = committer_.Add(changes, std::move(durable));
  for (UnitOfWork::Entry& entry : work.entries()) {
    if (!entry.changed) continue;
    shards_[entry.shard.value].unwritten.Add(entry.key, std::move(entry.record), ticket);
  }
}

absl::Time RocksStore::clock_mark() const { return TimeFromStored(clock_mark_us_.load()); }

absl::Status RocksStore::RaiseClockMark(absl::Time mark) {
  MutexLock lock(clock_mutex_);
  if (mark <= clock_mark()) return absl::OkStatus();
  const absl::Status usable = FailedEarlier();
  if (!usable.ok()) return usable;
  Committer::Changes changes;
  changes.meta.emplace_back(kClockKey, EncodeTime(mark));
  const absl::Status wrote = committer_.AddAndWait(changes);
  if (!wrote.ok()) return wrote;
  clock_mark_us_.store(StoredTime(mark));
  database_->filter.AdvanceTo(mark);
  return absl::OkStatus();
}

absl::Status RocksStore::FailedEarlier() const {
  if (!failed_.load() && !watermark_->failed()) return absl::OkStatus();
  return absl::UnavailableError("an earlier write to the store failed: it must be opened anew");
}

absl::Status RocksStore::Wrote(absl::Status status) {
  if (status.ok()) {
    watermark_->Touch();
    return status;
  }
  failed_.store(true);
  watermark_->GiveUp();
  // Damage found while writing is no verdict on any key: the outcome is unknown.
  return absl::UnavailableError(status.message());
}

std::uint64_t RocksStore::FreeBytes() const {
  std::uint64_t bytes = 0;
  const rocksdb::Status asked = database_->db->GetEnv()->GetFreeSpace(directory_, &bytes);
  return asked.ok() ? bytes : std::numeric_limits<std::uint64_t>::max();
}

bool RocksStore::HasRoomFor(std::uint64_t bytes) const {
  constexpr std::uint64_t kHardly = 4;  // A quarter of what is left, at most.
  const std::uint64_t free = FreeBytes();
  const std::uint64_t above_floor = free - std::min(free, disk_floor_bytes_);
  return bytes <= std::max(above_floor, free / kHardly);
}

RocksSpace RocksStore::space() { return RocksSpace(*database_); }

std::uint64_t RocksStore::EstimateKeys() const {
  std::uint64_t keys = 0;
  for (const auto& family : database_->shard_families) {
    std::uint64_t estimate = 0;
    if (database_->db->GetIntProperty(family.get(), rocksdb::DB::Properties::kEstimateNumKeys,
                                      &estimate)) {
      keys += estimate;
    }
  }
  return keys;
}

std::uint64_t RocksStore::Figure(RocksFigure figure) const {
  return FigureOf(*database_->db, figure);
}

absl::StatusOr<BackupReport> RocksStore::Backup(const BackupPlan& plan, absl::Time cut_time,
                                                const std::atomic<bool>& stop) {
  const absl::Status usable = FailedEarlier();
  if (!usable.ok()) return usable;
  backing_up_ = true;
  auto report = MakeBackup(*database_->db, identity_, plan, cut_time, stop);
  backing_up_ = false;
  return report;
}

}  // namespace onced
