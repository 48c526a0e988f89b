// How many calls are in flight.
#pragma once

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"

namespace onced {

// Threads: any.
class CallsInFlight {
 public:
  // One call, for as long as it exists.
  class One {
   public:
    explicit One(CallsInFlight& all) : all_(all) { all_.Add(1); }
    ~One() { all_.Add(-1); }
    One(const One&) = delete;
    One& operator=(const One&) = delete;

   private:
    CallsInFlight& all_;
  };

  // Returns once there is none, or after `patience`.
  void AwaitNone(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_) {
    const Countdown countdown(absl::ToChronoNanoseconds(patience));
    const MutexLock lock(mutex_);
    while (count_ > 0 && countdown.rest().count() > 0) none_.WaitFor(mutex_, countdown.rest());
  }

 private:
  void Add(int change) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    count_ += change;
    if (count_ == 0) none_.NotifyAll();
  }

  Mutex mutex_;
  CondVar none_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace onced
