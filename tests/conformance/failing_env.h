// A file system whose syncs of the log are counted, and fail or hang on demand.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "rocksdb/env.h"
#include "server/base/mutex.h"

namespace onced {

class FailingEnv final : public rocksdb::EnvWrapper {
 public:
  FailingEnv() : EnvWrapper(rocksdb::Env::Default()) {}

  const char* Name() const override { return "FailingEnv"; }
  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    const rocksdb::Status made = EnvWrapper::NewWritableFile(name, file, options);
    if (made.ok() && absl::EndsWith(name, ".sst")) CountTable();
    if (made.ok() && absl::EndsWith(name, ".log")) {
      *file = std::make_unique<Log>(std::move(*file), *this);
    }
    return made;
  }

  bool SyncedBy(std::thread::id thread) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return synced_by_.contains(thread);
  }
  void ForgetWhoSynced() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    synced_by_.clear();
  }

  rocksdb::Status GetFreeSpace(const std::string& /*path*/, std::uint64_t* bytes) override {
    *bytes = free_bytes;
    return rocksdb::Status::OK();
  }
  // Data files that were begun.
  int tables() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return tables_;
  }
  void AwaitTables(int count) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    while (tables_ < count) table_begun_.Wait(mutex_);
  }

  // From now on, syncs of logs hang.
  void HoldSyncs() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    holding_ = true;
    let_ = hung_ = 0;
  }
  // So many of those that hang, or will, go on.
  void LetSyncs(int count) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    let_ += count;
    sync_changed_.NotifyAll();
  }
  // All of them, and none hangs any more.
  void ReleaseSyncs() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    holding_ = false;
    sync_changed_.NotifyAll();
  }
  // Until the `nth` since they are held hangs.
  void AwaitHangingSync(int nth = 1) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    while (hung_ < nth) sync_changed_.Wait(mutex_);
  }

  std::atomic<std::uint64_t> free_bytes = std::uint64_t{1} << 40;

  // Of logs.
  std::atomic<int> syncs = 0;
  std::atomic<int> appends = 0;
  std::atomic<bool> fail_syncs = false;
  std::atomic<bool> fail_appends = false;

 private:
  void CountSync() ABSL_LOCKS_EXCLUDED(mutex_) {
    ++syncs;
    MutexLock lock(mutex_);
    synced_by_.insert(std::this_thread::get_id());
  }
  void HangIfHeld() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    if (!holding_) return;
    ++hung_;
    sync_changed_.NotifyAll();
    while (holding_ && let_ == 0) sync_changed_.Wait(mutex_);
    if (holding_) --let_;
  }

  void CountTable() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    ++tables_;
    table_begun_.NotifyAll();
  }

  Mutex mutex_;
  CondVar table_begun_;
  int tables_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::thread::id> synced_by_ ABSL_GUARDED_BY(mutex_);
  CondVar sync_changed_;
  bool holding_ ABSL_GUARDED_BY(mutex_) = false;
  int hung_ ABSL_GUARDED_BY(mutex_) = 0;
  int let_ ABSL_GUARDED_BY(mutex_) = 0;

  class Log final : public rocksdb::WritableFileWrapper {
   public:
    Log(std::unique_ptr<rocksdb::WritableFile> file, FailingEnv& env)
        : WritableFileWrapper(file.get()), file_(std::move(file)), env_(env) {}
    rocksdb::Status Append(const rocksdb::Slice& data) override {
      ++env_.appends;
      if (env_.fail_appends) return rocksdb::Status::IOError("fake: no space");
      return WritableFileWrapper::Append(data);
    }
    rocksdb::Status Append(const rocksdb::Slice& data,
                           const rocksdb::DataVerificationInfo& info) override {
      ++env_.appends;
      if (env_.fail_appends) return rocksdb::Status::IOError("fake: no space");
      return WritableFileWrapper::Append(data, info);
    }
    rocksdb::Status Sync() override {
      env_.CountSync();
      env_.HangIfHeld();
      if (env_.fail_syncs) return rocksdb::Status::IOError("fake: bad sector");
      return WritableFileWrapper::Sync();
    }

   private:
    const std::unique_ptr<rocksdb::WritableFile> file_;
    FailingEnv& env_;
  };
};

}  // namespace onced
