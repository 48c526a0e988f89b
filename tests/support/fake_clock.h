// A clock that stands still.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"

namespace onced {

// Stands still until a test moves it. May be moved back, as a machine's clock
// may be: the code under test has to cope.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000)) : now_(start) {}

  absl::Time Now() const override ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return now_;
  }
  void Advance(absl::Duration by) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    now_ += by;
  }
  void Set(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    now_ = now;
  }

 private:
  mutable Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
