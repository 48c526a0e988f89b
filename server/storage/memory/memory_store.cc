#include "server/storage/memory/memory_store.h"

#include <utility>

#include "server/base/check.h"
#include "server/storage/codec/meta_codec.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/codec/store_meta.h"

namespace onced {
namespace {

void ReadRecord(const MemoryDisk::Shard& shard, UnitOfWork::Entry& entry) {
  const auto found = shard.find(EncodeKey(entry.key));
  if (found == shard.end()) return;
  absl::StatusOr<Record> record = DecodeRecord(found->second);
  if (record.ok()) {
    entry.record = *std::move(record);
  } else {
    entry.read_status = record.status();
  }
}

}  // namespace

void MemoryDisk::Damage(ShardId shard, const RecordKey& key, std::string bytes) {
  MutexLock lock(mutex_);
  ONCED_CHECK(shard.value < shards_.size());
  shards_[shard.value][EncodeKey(key)] = std::move(bytes);
}

absl::Time MemoryDisk::ClockMark() {
  const absl::StatusOr<absl::Time> mark = DecodeTime(meta_[std::string(kClockKey)]);
  ONCED_CHECK(mark.ok());  // Only a MemoryStore writes it, and reads it when it opens.
  return *mark;
}

absl::StatusOr<std::unique_ptr<MemoryStore>> MemoryStore::Open(MemoryDisk& disk,
                                                               const Options& options) {
  MutexLock lock(disk.mutex_);
  const auto stored = disk.meta_;  // Copied: a lambda is not known to hold the lock.
  absl::StatusOr<std::optional<StoreMeta>> meta =
      ReadMeta([&stored](const std::string& key) -> absl::StatusOr<std::optional<std::string>> {
        const auto found = stored.find(key);
        if (found == stored.end()) return std::nullopt;
        return found->second;
      });
  if (!meta.ok()) return meta.status();
  if (meta->has_value()) {
    const absl::Status same = CheckShards(options.shards, (*meta)->identity, "the memory store");
    if (!same.ok()) return same;
    Resume(options.wall_now, options.restart_grace, **meta);
  } else {
    const std::uint32_t shards = options.shards.value_or(kShardsDefault);
    const absl::Status possible = CheckNewShards(shards);
    if (!possible.ok()) return possible;
    *meta = NewMeta(shards, options.random, options.wall_now);
    disk.shards_.resize(shards);
  }
  for (auto& [key, value] : EncodeMeta(**meta)) disk.meta_[key] = std::move(value);
  return std::unique_ptr<MemoryStore>(new MemoryStore(disk, (*meta)->identity, (*meta)->outages));
}

// 1. read, 2. decide, 3. write, 4. tell: never 4 before 3.
void MemoryStore::Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) {
  Load(*work);
  body(*work);
  if (work->changed()) Save(*work);
  std::move(durable)(absl::OkStatus());
}

void MemoryStore::Load(UnitOfWork& work) {
  MutexLock lock(disk_.mutex_);
  for (UnitOfWork::Entry& entry : work.entries()) {
    ONCED_CHECK(entry.shard.value < disk_.shards_.size());
    ReadRecord(disk_.shards_[entry.shard.value], entry);
    const absl::StatusOr<Fence> last = DecodeFence(disk_.meta_[FenceKey(entry.shard)]);
    ONCED_CHECK(last.ok());  // Open() read it, and only Save() writes.
    work.SetLastFence(entry.shard, *last);
  }
}

void MemoryStore::Save(const UnitOfWork& work) {
  MutexLock lock(disk_.mutex_);
  for (const UnitOfWork::Entry& entry : work.entries()) {
    if (!entry.changed) continue;
    MemoryDisk::Shard& shard = disk_.shards_[entry.shard.value];
    if (entry.record.has_value()) {
      shard[EncodeKey(entry.key)] = EncodeRecord(*entry.record);
    } else {
      shard.erase(EncodeKey(entry.key));
    }
  }
  for (const auto& [shard, fence] : work.RaisedFences()) {
    disk_.meta_[FenceKey(shard)] = EncodeFence(fence);
  }
}

// A record at a time: the lock isn't held while `visit` looks.
absl::StatusOr<Scanned> MemoryStore::Scan(const ScanRange& range, ScanVisitor visit) const {
  Scanned scanned;
  std::string bound = ScanBegin(range);
  while (const auto found = Next(range, bound)) {
    const std::string key = found->first.substr(range.name_space.size() + 1);
    ++scanned.records;
    scanned.bytes += found->first.size() + found->second.size();
    const bool more = visit(key, DecodeRecord(found->second));
    if (!more || scanned.records >= range.records_max || scanned.bytes >= range.bytes_max) {
      scanned.after = key;
      return scanned;
    }
    bound = found->first + '\0';
  }
  return scanned;
}

std::optional<std::pair<std::string, std::string>> MemoryStore::Next(
    const ScanRange& range, const std::string& bound) const {
  MutexLock lock(disk_.mutex_);
  ONCED_CHECK(range.shard.value < disk_.shards_.size());
  const MemoryDisk::Shard& shard = disk_.shards_[range.shard.value];
  const auto next = shard.lower_bound(bound);
  if (next == shard.end() || next->first >= ScanEnd(range)) return std::nullopt;
  return *next;
}

absl::Time MemoryStore::clock_mark() const {
  MutexLock lock(disk_.mutex_);
  return disk_.ClockMark();
}

absl::Status MemoryStore::RaiseClockMark(absl::Time mark) {
  MutexLock lock(disk_.mutex_);
  if (mark > disk_.ClockMark()) disk_.meta_[std::string(kClockKey)] = EncodeTime(mark);
  return absl::OkStatus();
}

std::uint64_t MemoryStore::EstimateKeys() const {
  MutexLock lock(disk_.mutex_);
  std::uint64_t keys = 0;
  for (const MemoryDisk::Shard& shard : disk_.shards_) keys += shard.size();
  return keys;
}

}  // namespace onced
