// Time that can be moved ahead.
#pragma once

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/believed_clock.h"
#include "server/base/mutex.h"

namespace onced::client {

// The machine's, or one that stands still; and what was added to it: to both of its clocks, so that
// no step is seen.
// Threads: any.
class AheadOfTime final : public TimeSource {
 public:
  explicit AheadOfTime(bool stands_still) {
    if (stands_still) still_ = machine_.Read();
  }

  TimeReading Read() const override ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    TimeReading reading = still_.has_value() ? *still_ : machine_.Read();
    reading.wall += ahead_;
    reading.monotonic += ahead_;
    return reading;
  }
  void Advance(absl::Duration by) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    ahead_ += by;
  }

 private:
  // Constant after construction.
  const SystemTimeSource machine_;
  std::optional<TimeReading> still_;

  // Shared.
  mutable Mutex mutex_;
  absl::Duration ahead_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced::client
