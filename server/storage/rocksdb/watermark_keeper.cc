#include "server/storage/rocksdb/watermark_keeper.h"

#include <chrono>
#include <utility>

#include "rocksdb/db.h"
#include "server/storage/rocksdb/file_changes.h"
#include "server/storage/rocksdb/file_marks.h"
#include "server/storage/rocksdb/rocks_status.h"

namespace onced {

WatermarkKeeper::WatermarkKeeper(rocksdb::DB& db, FileChanges& changes,
                                 std::unique_ptr<Watermark> file, std::uint64_t store,
                                 bool sync_log)
    : db_(db),
      changes_(changes),
      store_(store),
      sync_log_(sync_log),
      file_(std::move(file)),
      runner_([this] { Run(); }) {
  changes_.Listen([this] { Touch(); });
}

WatermarkKeeper::~WatermarkKeeper() {
  changes_.Listen(nullptr);
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  runner_.join();
}

void WatermarkKeeper::Touch() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(touched_, true)) return;
  }
  wake_.NotifyOne();
}

void WatermarkKeeper::TouchAgain() {
  MutexLock lock(mutex_);
  touched_ = !stopping_;
}

void WatermarkKeeper::Run() {
  thread_.Adopt();
  while (AwaitTouch()) {
    if (failed()) continue;
    if (!WriteNow().ok()) failed_.store(true);
  }
}

bool WatermarkKeeper::AwaitTouch() {
  MutexLock lock(mutex_);
  while (!touched_ && !stopping_) wake_.Wait(mutex_);
  // Lets more writes come, unless it is time to go. May be shorter: harmless.
  if (!stopping_) wake_.WaitFor(mutex_, absl::ToChronoNanoseconds(kLag));
  return std::exchange(touched_, false);
}

// 1. look how far the store is, 2. make sure that this is durable, 3. say so.
absl::Status WatermarkKeeper::WriteNow() {
  WatermarkValue value{.sequence = db_.GetLatestSequenceNumber(), .store = store_};
  if (!MarkFiles(db_, manifest_, value).ok()) {
    // Nothing was changed by looking, as when there are no descriptors left.
    TouchAgain();
    return absl::OkStatus();
  }
  manifest_ = value.manifest;
  if (sync_log_) {
    const absl::Status synced = FromRocks("syncing the log", db_.SyncWAL());
    if (!synced.ok()) return synced;
  } else if (!value.logs.empty()) {
    value.logs.back().bytes = 0;  // Perhaps just being synced, by who writes to it.
  }
  return file_->Write(value);
}

}  // namespace onced
