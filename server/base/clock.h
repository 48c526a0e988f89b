// The only source of time in the server.
#pragma once

#include "absl/time/time.h"

namespace onced {

// Threads: Now() may be called from any thread.
// Promise: Now() never goes back within one process, and is a whole number of
//          microseconds, which is what records store.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// Time of day when constructed, plus what the monotonic clock (suspend
// included) has counted since: a step of the wall clock while the process runs
// changes nothing here.
class SystemClock final : public Clock {
 public:
  // Starts at the wall clock, or at `not_before` where that is later.
  explicit SystemClock(absl::Time not_before = absl::InfinitePast());
  absl::Time Now() const override;

 private:
  // Constant after construction.
  absl::Time start_;
  absl::Duration started_at_;  // On the monotonic clock.
};

// `time` without the part below a microsecond.
absl::Time FloorToMicros(absl::Time time);

}  // namespace onced
