// The server's time: what it has reason to believe, and never less than before.
#pragma once

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"

namespace onced {

// What the machine says at one moment.
struct TimeReading {
  absl::Time wall;           // May be stepped, in either direction, at any time.
  absl::Duration monotonic;  // Since some moment; only grows, also while suspended.
};

// Threads: any.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual TimeReading Read() const = 0;
};

class SystemTimeSource final : public TimeSource {
 public:
  TimeReading Read() const override;
};

// Where time starts if the wall clock says `wall` and time last believed was
// `last`: there, if the wall clock is behind it or further ahead than
// `max_downtime`; InfinitePast, as of a new store, believes any.
absl::Time BelievedAtStart(absl::Time wall, absl::Time last, absl::Duration max_downtime);

// Operation: follows the wall clock as long as that agrees, within a tolerance,
//            with what the monotonic clock has counted. A larger step is not
//            believed: time goes on by the monotonic clock until the wall clock
//            is back, or an operator accepts the step. So no jump ever expires,
//            lapses or reclaims anything.
// Threads:   any; `on_step` is called on the thread that noticed, without a lock.
// Lifetime:  `source` outlives it.
// Promise:   Now() never goes back, whatever the wall clock does.
class BelievedClock final : public Clock {
 public:
  struct Options {
    // How far the wall clock may be stepped ahead and still be followed; larger
    // than what a time daemon corrects by a step in its normal course. Ten times
    // as far back, since nothing can expire by that: time passes more slowly
    // until they agree. Every start after a crash is ahead by up to a second,
    // for it resumes at the durable mark.
    absl::Duration tolerance = absl::Seconds(1);
    // At the start, a wall clock that is further ahead than this of the time
    // last believed is not believed.
    absl::Duration max_downtime = absl::Hours(24 * 7);
    // Accept the wall clock as it is at the start, if it is ahead; if it is
    // behind, compare with it from now on.
    bool accept_at_start = false;
    // The time last believed; InfinitePast in a new store, which believes any.
    absl::Time last_believed = absl::InfinitePast();
    // Told of each step that is not believed, and with zero of its end.
    std::function<void(absl::Duration)> on_step;
  };

  BelievedClock(const TimeSource& source, Options options);

  absl::Time Now() const override ABSL_LOCKS_EXCLUDED(mutex_);

  // How far the wall clock is ahead of what is believed; zero while it is
  // followed. Negative: behind.
  absl::Duration Step() const ABSL_LOCKS_EXCLUDED(mutex_);

  // An operator says that the wall clock is right. A step ahead is taken at
  // once; after one back, time goes on as before and only the comparison starts
  // anew. The step, as Step() says it.
  absl::Duration Accept() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Advance(const TimeReading& reading) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AcceptLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  const TimeSource& source_;
  const Options options_;

  // Shared. Mutable: to look at a clock moves it.
  mutable Mutex mutex_;
  mutable absl::Time now_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Duration read_at_ ABSL_GUARDED_BY(mutex_);  // Monotonic, when now_ was right.
  // What the wall clock may be off by without our minding, since an operator
  // accepted a step back.
  mutable absl::Duration accepted_lead_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Duration step_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
