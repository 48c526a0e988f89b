#include "server/base/believed_clock.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace onced {
namespace {

// While time is ahead of a wall clock that is followed, it passes at nine
// tenths of its speed, until they agree: it can't go back.
constexpr int kSlowdown = 10;
constexpr int kTolerancesBack = 10;

}  // namespace

absl::Time BelievedAtStart(absl::Time wall, absl::Time last, absl::Duration max_downtime) {
  if (last == absl::InfinitePast()) return wall;
  const bool plausible = wall >= last && wall - last <= max_downtime;
  return plausible ? wall : last;
}

BelievedClock::BelievedClock(const TimeSource& source, Options options)
    : source_(source), options_(std::move(options)) {
  absl::Duration step;
  {
    const TimeReading reading = source_.Read();
    MutexLock lock(mutex_);
    now_ = BelievedAtStart(reading.wall, options_.last_believed, options_.max_downtime);
    read_at_ = reading.monotonic;
    Advance(reading);
    if (options_.accept_at_start) {
      AcceptLocked();
      Advance(reading);
    }
    step = step_;
  }
  if (step != absl::ZeroDuration() && options_.on_step) options_.on_step(step);
}

absl::Time BelievedClock::Now() const {
  std::optional<absl::Duration> changed;
  absl::Time now;
  {
    MutexLock lock(mutex_);
    const absl::Duration before = step_;
    Advance(source_.Read());
    now = now_;
    const bool began_or_ended = (before == absl::ZeroDuration()) != (step_ == absl::ZeroDuration());
    if (began_or_ended) changed = step_;
  }
  if (changed.has_value() && options_.on_step) options_.on_step(*changed);
  return FloorToMicros(now);
}

absl::Duration BelievedClock::Step() const {
  Now();
  MutexLock lock(mutex_);
  return step_;
}

absl::Duration BelievedClock::Accept() {
  Now();
  absl::Duration step;
  {
    MutexLock lock(mutex_);
    step = step_;
    AcceptLocked();
  }
  Now();
  return step;
}

void BelievedClock::AcceptLocked() {
  if (step_ > absl::ZeroDuration()) {
    now_ += step_;
  } else {
    accepted_lead_ -= step_;
  }
}

void BelievedClock::Advance(const TimeReading& reading) const {
  // Another thread's later reading may have been taken first.
  const absl::Duration passed = std::max(reading.monotonic - read_at_, absl::ZeroDuration());
  const absl::Duration off = reading.wall + accepted_lead_ - (now_ + passed);
  read_at_ = std::max(read_at_, reading.monotonic);
  now_ += passed;
  if (off > options_.tolerance || off < -kTolerancesBack * options_.tolerance) {
    step_ = off;
    return;
  }
  step_ = absl::ZeroDuration();
  now_ += std::max(off, -passed / kSlowdown);
}

}  // namespace onced
