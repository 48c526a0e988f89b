#include "server/base/clock.h"

#include <algorithm>
#include <ctime>

#include "absl/time/clock.h"

namespace onced {
namespace {

absl::Duration Monotonic() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace

SystemClock::SystemClock(absl::Time not_before)
    : start_(std::max(absl::Now(), not_before)), started_at_(Monotonic()) {}

absl::Time SystemClock::Now() const { return FloorToMicros(start_ + (Monotonic() - started_at_)); }

absl::Time FloorToMicros(absl::Time time) { return absl::FromUnixMicros(absl::ToUnixMicros(time)); }

}  // namespace onced
