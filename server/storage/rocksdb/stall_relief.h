// Ends a stall of writes that the sweeper's pace may be the cause of.
#pragma once

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "rocksdb/listener.h"
#include "server/base/mutex.h"
#include "server/storage/rocksdb/pacer.h"

namespace onced {

// While a shard's files are rewritten, RocksDB can't compact what is written to it
// meanwhile, and slows all writers down once that is too much. Then the rewrite is
// to end as fast as it can.
//
// Threads:  any.
// Lifetime: `pacer` outlives it.
class StallRelief final : public rocksdb::EventListener {
 public:
  explicit StallRelief(Pacer& pacer) : pacer_(pacer) {}

  const char* Name() const override { return "onced.StallRelief"; }
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override {
    MutexLock lock(mutex_);
    if (info.condition.cur == rocksdb::WriteStallCondition::kNormal) {
      stalled_.erase(info.cf_name);
    } else {
      stalled_.insert(info.cf_name);
    }
    pacer_.Rush(!stalled_.empty());
  }

 private:
  Pacer& pacer_;
  Mutex mutex_;
  std::set<std::string> stalled_ ABSL_GUARDED_BY(mutex_);  // Families.
};

}  // namespace onced
