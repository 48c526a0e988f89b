#include "server/storage/rocksdb/rocks_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "server/base/check.h"
#include "server/storage/codec/meta_codec.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/codec/wire.h"
#include "server/storage/rocksdb/backup.h"
#include "server/storage/rocksdb/rocks_database.h"
#include "server/storage/rocksdb/rocks_status.h"
#include "server/storage/rocksdb/watermark_keeper.h"

namespace onced {
namespace {

absl::string_view ViewOf(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

rocksdb::WriteOptions HowToWrite(bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  return options;
}

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
      fences_(database_->meta.fences),
      watermark_(std::make_unique<WatermarkKeeper>(*database_->db, *database_->file_changes,
                                                   std::move(database_->watermark),
                                                   WatermarkStoreId(identity_), !sync_)),
      clock_mark_us_(StoredTime(database_->meta.clock_mark)) {}

RocksStore::~RocksStore() = default;

// 1. read, 2. decide, 3. write and sync, 4. tell: never 4 before 3.
void RocksStore::Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) {
  const absl::Status usable = FailedEarlier();
  if (usable.ok()) {
    Load(*work);
  } else {
    for (UnitOfWork::Entry& entry : work->entries()) entry.read_status = usable;
  }
  body(*work);
  if (!usable.ok() || !work->changed()) return std::move(durable)(usable);
  std::move(durable)(Save(*work));
}

void RocksStore::Load(UnitOfWork& work) const {
  const absl::Span<UnitOfWork::Entry> entries = work.entries();
  if (entries.empty()) return;
  std::vector<std::string> keys;
  std::vector<rocksdb::Slice> slices;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  keys.reserve(entries.size());  // So that the slices stay valid.
  for (const UnitOfWork::Entry& entry : entries) {
    ONCED_CHECK(entry.shard.value < identity_.shards);
    work.SetLastFence(entry.shard, fences_[entry.shard.value]);
    slices.emplace_back(keys.emplace_back(EncodeKey(entry.key)));
    families.push_back(database_->shard_families[entry.shard.value].get());
  }
  std::vector<rocksdb::PinnableSlice> values(entries.size());
  std::vector<rocksdb::Status> statuses(entries.size());
  database_->db->MultiGet({}, entries.size(), families.data(), slices.data(), values.data(),
                          statuses.data());
  for (std::size_t i = 0; i < entries.size(); ++i) Deliver(statuses[i], values[i], entries[i]);
}

absl::Status RocksStore::Save(const UnitOfWork& work) {
  rocksdb::WriteBatch batch;
  rocksdb::Status status;
  for (const UnitOfWork::Entry& entry : work.entries()) {
    if (!entry.changed || !status.ok()) continue;
    rocksdb::ColumnFamilyHandle* family = database_->shard_families[entry.shard.value].get();
    status = entry.record.has_value()
                 ? batch.Put(family, EncodeKey(entry.key), EncodeRecord(*entry.record))
                 : batch.Delete(family, EncodeKey(entry.key));
  }
  const auto raised = work.RaisedFences();
  for (const auto& [shard, fence] : raised) {
    if (status.ok()) {
      status = batch.Put(database_->meta_family.get(), FenceKey(shard), EncodeFence(fence));
    }
    fences_[shard.value] = fence;
  }
  if (status.ok()) status = database_->db->Write(HowToWrite(sync_), &batch);
  return Wrote(FromRocks("writing to the store", status));
}

absl::Time RocksStore::clock_mark() const { return TimeFromStored(clock_mark_us_.load()); }

absl::Status RocksStore::RaiseClockMark(absl::Time mark) {
  MutexLock lock(clock_mutex_);
  if (mark <= clock_mark()) return absl::OkStatus();
  const absl::Status usable = FailedEarlier();
  if (!usable.ok()) return usable;
  const rocksdb::Status status =
      database_->db->Put(HowToWrite(sync_), database_->meta_family.get(),
                         rocksdb::Slice(kClockKey.data(), kClockKey.size()), EncodeTime(mark));
  const absl::Status wrote = Wrote(FromRocks("writing the clock mark", status));
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
