// What was decided, but can't be read from RocksDB yet.
#pragma once

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
// Operation: changes are collected, and forgotten together once the last of them is
//            written. Those that come meanwhile are collected apart.
// Threads:   one at a time.
// Limits:    what is not written yet, and what was changed while that came to be: a
//            few of the committer's batches. A shard that nobody asks any more keeps
//            its last changes.
class Unwritten {
 public:
  struct Change {
    std::optional<Record> record;  // nullopt: it was erased.
    Ticket ticket;                 // With which it is written.
  };

  // nullptr: what RocksDB has is the newest.
  const Change* Find(const RecordKey& key) const {
    if (const auto found = newer_.find(key); found != newer_.end()) return &found->second;
    const auto found = older_.find(key);
    return found == older_.end() ? nullptr : &found->second;
  }
  void Add(const RecordKey& key, std::optional<Record> record, Ticket ticket) {
    newer_.insert_or_assign(key, Change{std::move(record), ticket});
    newest_ = ticket;
  }
  // All up to `written` can be read from RocksDB from now on.
  void Forget(Ticket written) {
    if (newest_ <= written) newer_.clear();
    if (newest_of_older_ > written) return;
    older_.clear();
    older_.swap(newer_);
    newest_of_older_ = newest_;
  }
  std::size_t size() const { return newer_.size() + older_.size(); }

 private:
  using Changes = absl::flat_hash_map<RecordKey, Change>;

  Changes newer_;
  Ticket newest_;
  Changes older_;
  Ticket newest_of_older_;
};

}  // namespace onced
