#include "server/storage/unit_of_work.h"

#include <algorithm>
#include <utility>

namespace onced {

UnitOfWork::Slot UnitOfWork::Want(ShardId shard, const RecordKey& key) {
  const auto [found, is_new] = index_.try_emplace(key, entries_.size());
  if (is_new) entries_.push_back({.shard = shard, .key = key});
  return {found->second};
}

void UnitOfWork::Put(Slot slot, Record record) {
  Entry& entry = entries_[slot.index];
  LastFence& last = fences_[entry.shard.value];
  if (record.fence > last.fence) last = {record.fence, true};
  entry.record = std::move(record);
  entry.changed = changed_ = true;
}

void UnitOfWork::Erase(Slot slot) {
  Entry& entry = entries_[slot.index];
  entry.record.reset();
  entry.changed = changed_ = true;
}

Fence UnitOfWork::NextFence(Slot slot, absl::Time now) const {
  const auto last = fences_.find(entries_[slot.index].shard.value);
  const std::int64_t next = last == fences_.end() ? 1 : last->second.fence.value + 1;
  return {std::max(next, absl::ToUnixMicros(now))};
}

std::vector<std::pair<ShardId, Fence>> UnitOfWork::RaisedFences() const {
  std::vector<std::pair<ShardId, Fence>> raised;
  for (const auto& [shard, last] : fences_) {
    if (last.raised) raised.emplace_back(ShardId{shard}, last.fence);
  }
  return raised;
}

}  // namespace onced
