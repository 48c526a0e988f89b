// The only source of time in the server.
#pragma once

#include "absl/time/time.h"

namespace onced {

// Threads: Now() may be called from any thread.
// Promise: a whole number of microseconds, which is what records store.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// The wall clock as it is, for log lines: it may be stepped. What the server
// decides by is BelievedClock.
class SystemClock final : public Clock {
 public:
  absl::Time Now() const override;
};

// `time` without the part below a microsecond.
absl::Time FloorToMicros(absl::Time time);

}  // namespace onced
