#include "server/base/clock.h"

#include <ctime>

#include "absl/time/clock.h"
#include "server/base/believed_clock.h"

namespace onced {

absl::Time SystemClock::Now() const { return FloorToMicros(absl::Now()); }

TimeReading SystemTimeSource::Read() const {
  timespec monotonic{};
  clock_gettime(CLOCK_BOOTTIME, &monotonic);
  return {SystemClock().Now(), absl::DurationFromTimespec(monotonic)};
}

absl::Time FloorToMicros(absl::Time time) { return absl::FromUnixMicros(absl::ToUnixMicros(time)); }

}  // namespace onced
