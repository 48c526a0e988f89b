// Gives back the space of records that expired.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "rocksdb/compaction_filter.h"
#include "server/ledger/record.h"

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
};

}  // namespace onced
