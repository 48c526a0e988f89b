// The client's time, which tests replace.
#pragma once

#include <stop_token>

#include "absl/time/time.h"

namespace onced::client {

// Threads: any, many at once.
class Clock {
 public:
  virtual ~Clock() = default;
  // Goes on evenly, whatever is done to the wall clock, and also while the machine sleeps, as the
  // server's does: for differences.
  virtual absl::Time Now() const = 0;
  // The time of day: for deadlines, which callers and gRPC give by it.
  virtual absl::Time WallNow() const = 0;
  // Returns false as soon as a stop is requested, else true once it is `time`: up to 1 s later
  // where the machine slept.
  virtual bool SleepUntil(absl::Time time, const std::stop_token& stop) = 0;

  // The machine's.
  static Clock& System();
};

}  // namespace onced::client
