// Keeps the watermark close behind what is durable.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/base/thread_role.h"
#include "server/storage/rocksdb/watermark.h"

namespace rocksdb {
class DB;
}  // namespace rocksdb

namespace onced {

class FileChanges;

// Operation: after the first change since the last watermark it waits for kLag,
//            so that many changes share one, and then writes how far the store is
//            durable, and in which files. A change is a write, and what RocksDB
//            does by itself: a flush or a compaction, which retire files.
// Threads:   Touch() and failed() from any; the file belongs to its own thread.
// Lifetime:  `db` and `changes` outlive it. The destructor writes the last watermark.
// Promise:   what the watermark says was durable before it was written.
// Limits:    changes of the last kLag and of one sync may be missing from it: a
//            log or a MANIFEST cut within them, at the end of an entry, can't be
//            noticed.
class WatermarkKeeper {
 public:
  static constexpr absl::Duration kLag = absl::Milliseconds(100);

  // `sync_log`: writes are not synced by themselves, so it does that before.
  WatermarkKeeper(rocksdb::DB& db, FileChanges& changes, std::unique_ptr<Watermark> file,
                  std::uint64_t store, bool sync_log);
  ~WatermarkKeeper();

  // Something was written, or RocksDB has changed its files.
  void Touch() ABSL_LOCKS_EXCLUDED(mutex_);
  // The watermark could not be written, and nothing more is tried.
  bool failed() const { return failed_.load(); }
  // Don't write any more: the store has failed.
  void GiveUp() { failed_.store(true); }

 private:
  void Run();
  // False: stopping, and there is nothing to write.
  bool AwaitTouch() RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WriteNow() RUNS_ON(thread_);
  void TouchAgain() ABSL_LOCKS_EXCLUDED(mutex_);

  // Constant after construction.
  rocksdb::DB& db_;
  FileChanges& changes_;
  const std::uint64_t store_;
  const bool sync_log_;

  // Shared.
  std::atomic<bool> failed_{false};
  Mutex mutex_;
  CondVar wake_;
  bool touched_ ABSL_GUARDED_BY(mutex_) = true;  // By the opening, which made new files.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  // Its own thread only.
  ThreadRole thread_;
  const std::unique_ptr<Watermark> file_ OWNED_BY(thread_);
  ManifestMark manifest_ OWNED_BY(thread_);  // Of the last mark.

  std::thread runner_;  // Last: starts once everything above exists.
};

}  // namespace onced
