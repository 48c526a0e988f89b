// Tells when RocksDB changes its files by itself.
#pragma once

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "rocksdb/listener.h"
#include "server/base/mutex.h"

namespace onced {

// Threads: any. RocksDB calls it on the threads that flush and compact.
class FileChanges final : public rocksdb::EventListener {
 public:
  // From now on `changed` is called after each flush and each compaction, and
  // what was called before is not, any more, once this returns. It must not
  // block, nor use the database. nullptr: nothing.
  void Listen(std::function<void()> changed) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    changed_ = std::move(changed);
  }

  const char* Name() const override { return "onced.FileChanges"; }
  void OnFlushCompleted(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& /*info*/) override {
    Tell();
  }
  void OnCompactionCompleted(rocksdb::DB* /*db*/,
                             const rocksdb::CompactionJobInfo& /*info*/) override {
    Tell();
  }

 private:
  void Tell() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    if (changed_) changed_();
  }

  // Shared.
  Mutex mutex_;
  std::function<void()> changed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
