// What files say, kept up to date while the server runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/mutex.h"
#include "server/identity/file_set.h"

namespace onced {

// Operation: Look() reads the files; if they have changed and make a good value, that is
//            the value from now on; if they don't, the one before stays.
// Threads:   Look() on one; the others on any, and cheap.
// Promise:   Get() is never anything but what was once found to be in order.
template <typename Value>
class Reloaded {
 public:
  struct Options {
    std::vector<std::string> files;
    // Of the files' texts; an error's message says which file and what is wrong.
    std::function<absl::StatusOr<Value>(const std::vector<std::string>&)> parse;
    // After a change: whether it was taken. What stays wrong is told once, not at each look.
    std::function<void(const absl::Status&)> told;
  };

  // Fails with what is wrong with the files.
  static absl::StatusOr<std::unique_ptr<Reloaded>> Open(Options options) {
    auto texts = ReadFileSet(options.files);
    if (!texts.ok()) return texts.status();
    auto value = options.parse(*texts);
    if (!value.ok()) return value.status();
    return std::unique_ptr<Reloaded>(
        new Reloaded(std::move(options), *std::move(texts), *std::move(value)));
  }

  void Look() ABSL_LOCKS_EXCLUDED(mutex_) {
    auto texts = ReadFileSet(options_.files);
    if (!texts.ok()) return Failed({}, texts.status());
    if (*texts == texts_) {  // Perhaps again.
      failure_ = absl::OkStatus();
      return;
    }
    auto value = options_.parse(*texts);
    if (!value.ok()) return Failed(*std::move(texts), value.status());
    texts_ = *std::move(texts);
    failure_ = absl::OkStatus();
    Set(std::make_shared<const Value>(*std::move(value)));
    options_.told(absl::OkStatus());
  }

  // Shared: who works with it keeps it, while a newer one comes.
  std::shared_ptr<const Value> Get() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return value_;
  }
  // Grows with each new value; from 1.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  std::uint64_t successes() const { return version() - 1; }
  std::uint64_t failures() const { return failures_.load(); }

 private:
  Reloaded(Options options, std::vector<std::string> texts, Value value)
      : options_(std::move(options)), texts_(std::move(texts)) {
    Set(std::make_shared<const Value>(std::move(value)));
  }

  void Set(std::shared_ptr<const Value> value) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const MutexLock lock(mutex_);
      value_ = std::move(value);
    }
    version_.fetch_add(1, std::memory_order_release);
  }

  void Failed(std::vector<std::string> texts, const absl::Status& failure) {
    if (failure == failure_ && texts == failed_texts_) return;
    failure_ = failure;
    failed_texts_ = std::move(texts);
    ++failures_;
    options_.told(failure);
  }

  // Constant after construction.
  const Options options_;

  // Look()'s.
  std::vector<std::string> texts_;         // Of the value.
  absl::Status failure_;                   // The last one told; OK: none since the files were good.
  std::vector<std::string> failed_texts_;  // Of which it was.

  mutable Mutex mutex_;
  // Shared: see Get().
  std::shared_ptr<const Value> value_ ABSL_GUARDED_BY(mutex_);

  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
};

}  // namespace onced
