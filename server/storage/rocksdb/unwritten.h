// What was decided, but can't be read from RocksDB yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/ledger/record.h"
#include "server/storage/rocksdb/committer.h"

namespace onced {

// The changes of one shard that the committer has not written yet, by key, and
// some that it has: what is found here is the newest in any case.
//
// Threads: one at a time.
// Limits:  twice what is not written yet; that is bounded by the committer.
class Unwritten {
 public:
  struct Change {
    std::optional<Record> record;  // nullopt: it was erased.
    Ticket ticket;                 // With which it is written.
  };

  // nullptr: what RocksDB has is the newest.
  const Change* Find(const RecordKey& key) const {
    const auto found = changes_.find(key);
    return found == changes_.end() ? nullptr : &found->second;
  }
  void Add(const RecordKey& key, std::optional<Record> record, Ticket ticket) {
    changes_.insert_or_assign(key, Change{std::move(record), ticket});
    newest_ = ticket;
  }
  // All up to `written` can be read from RocksDB from now on.
  void Forget(Ticket written) {
    if (newest_ <= written) return changes_.clear();
    if (changes_.size() < look_at_) return;
    absl::erase_if(changes_, [&](const auto& entry) { return entry.second.ticket <= written; });
    look_at_ = std::max(kLookAtMin, 2 * changes_.size());
  }
  std::size_t size() const { return changes_.size(); }

 private:
  static constexpr std::size_t kLookAtMin = 64;

  absl::flat_hash_map<RecordKey, Change> changes_;
  Ticket newest_;
  std::size_t look_at_ = kLookAtMin;  // The size at which it is worth a look at each.
};

}  // namespace onced
