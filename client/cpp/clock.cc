#include "client/cpp/clock.h"

#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "absl/time/clock.h"

namespace onced::client {
namespace {

// The standard library waits by a clock that stands still while the machine sleeps.
constexpr absl::Duration kSliceMax = absl::Seconds(1);

absl::Duration SinceBoot() {
  timespec time{};
  (void)clock_gettime(CLOCK_BOOTTIME, &time);  // Ignored: it fails for no clock that there is.
  return absl::DurationFromTimespec(time);
}

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return start_ + (SinceBoot() - boot_start_); }

  absl::Time WallNow() const override { return absl::Now(); }

  bool SleepUntil(absl::Time time, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any condition;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      const absl::Duration rest = time - Now();
      if (rest <= absl::ZeroDuration()) return true;
      condition.wait_for(lock, stop, absl::ToChronoNanoseconds(std::min(rest, kSliceMax)),
                         [] { return false; });
    }
    return false;
  }

 private:
  const absl::Time start_ = absl::Now();
  const absl::Duration boot_start_ = SinceBoot();
};

}  // namespace

Clock& Clock::System() {
  static SystemClock clock;
  return clock;
}

}  // namespace onced::client
