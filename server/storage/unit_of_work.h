// One atomic read, decision and write over a set of keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/ledger/record.h"

namespace onced {

// Index of a shard, from 0. Its own type, so that it can't be taken for another number.
struct ShardId {
  std::uint32_t value = 0;
  auto operator<=>(const ShardId&) const = default;
};

// The keys that a decision needs, their records as found, and what becomes of
// them. Made in three steps: the caller names the keys (Want), a Store loads
// them and calls the caller's body, which reads and changes them here; then the
// Store writes what was changed.
//
// Threads: one at a time.
// Promise: within the body, Find() sees the body's own changes.
class UnitOfWork {
 public:
  // Index of a wanted key, for this unit of work alone.
  struct Slot {
    std::size_t index = 0;
    bool operator==(const Slot&) const = default;
  };

  // ---- Before: name the keys. The same key gives the same slot. ----
  void Reserve(std::size_t keys) {
    entries_.reserve(keys);
    index_.reserve(keys);
  }
  Slot Want(ShardId shard, const RecordKey& key);

  // ---- In the body ----
  // OK unless the record could not be read: the key must then not be decided on.
  const absl::Status& ReadStatus(Slot slot) const { return entries_[slot.index].read_status; }
  const std::optional<Record>& Find(Slot slot) const { return entries_[slot.index].record; }
  // A record with a higher fence than the shard's last one raises that.
  void Put(Slot slot, Record record);
  void Erase(Slot slot);
  // Neither changed here nor waiting for the disk: what was found is durable.
  bool Settled(Slot slot) const {
    const Entry& entry = entries_[slot.index];
    return entry.durable && !entry.changed;
  }
  // More than every fence that the key's shard handed out, and at least `now`
  // in microseconds.
  Fence NextFence(Slot slot, absl::Time now) const;

  // ---- For stores ----
  struct Entry {
    ShardId shard;
    RecordKey key;
    absl::Status read_status;
    std::optional<Record> record;
    bool durable = true;  // As it was found: its last change is, or its absence.
    bool changed = false;
  };
  absl::Span<Entry> entries() { return absl::MakeSpan(entries_); }
  absl::Span<const Entry> entries() const { return entries_; }
  bool changed() const { return changed_; }
  // Called before the body for every shard that a wanted key lies in.
  void SetLastFence(ShardId shard, Fence fence) { fences_[shard.value] = {fence, false}; }
  // Shards whose last fence the body raised, with its new value.
  std::vector<std::pair<ShardId, Fence>> RaisedFences() const;

 private:
  struct LastFence {
    Fence fence;
    bool raised = false;
  };

  std::vector<Entry> entries_;
  absl::flat_hash_map<RecordKey, std::size_t> index_;
  absl::flat_hash_map<std::uint32_t, LastFence> fences_;
  bool changed_ = false;
};

}  // namespace onced
