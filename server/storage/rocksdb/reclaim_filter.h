// Gives back the space of records that expired.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rocksdb/compaction_filter.h"
#include "server/ledger/record.h"
#include "server/storage/rocksdb/pacer.h"

namespace onced {

// Drops records from a shard's files, while RocksDB rewrites them anyway, once
// they expired `grace` below the durable clock mark. The wall clock has no say
// here: one that jumps ahead would destroy what is still alive.
//
// Threads: Start() before the first AdvanceTo(); all else from any thread.
// Promise: what is damaged, or held for an operator, stays for ever. Nothing is
//          dropped before the first AdvanceTo(), as when RocksDB recovers.
// Limits:  looks at more than the expiry only where that says that it is time.
class ReclaimFilter final : public rocksdb::CompactionFilter {
 public:
  explicit ReclaimFilter(absl::Duration grace);

  // What a reservation's end depends on, beside the record.
  void Start(Epoch epoch, const Outages& outages);
  void AdvanceTo(absl::Time clock_mark);

  // What expired at or before it goes; InfinitePast before the first AdvanceTo().
  absl::Time expired_by() const;
  // From when on a stored record has expired. Of a committed one that is damaged
  // it may be wrong: the filter looks again.
  absl::Time ExpiryIn(absl::string_view bytes) const;
  // Of compactions that somebody asked for; those that RocksDB does by itself
  // aren't held up.
  Pacer& pacer() const { return pacer_; }

  const char* Name() const override { return "onced.ReclaimFilter"; }
  Decision FilterV2(int level, const rocksdb::Slice& key, ValueType value_type,
                    const rocksdb::Slice& existing_value, std::string* new_value,
                    std::string* skip_until) const override;

 private:
  const absl::Duration grace_;
  // Written by Start(), which happens before the first reader sees a bound.
  View view_;
  // What expired at or before it goes. Published with what Start() wrote.
  std::atomic<std::int64_t> expired_by_us_;
  mutable Pacer pacer_;  // Has a lock of its own.
};

// Gives each compaction its filter, all of them `filter`'s.
// Lifetime: `filter` outlives it.
std::shared_ptr<rocksdb::CompactionFilterFactory> MakeReclaimFilterFactory(
    const ReclaimFilter& filter);

}  // namespace onced
