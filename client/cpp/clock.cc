#include "client/cpp/clock.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/time/clock.h"

namespace onced::client {
namespace {

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override {
    return start_ + absl::FromChrono(std::chrono::steady_clock::now() - steady_start_);
  }

  absl::Time WallNow() const override { return absl::Now(); }

  bool SleepUntil(absl::Time time, const std::stop_token& stop) override {
    // A wait for longer than that would overflow the condition's own arithmetic.
    const absl::Duration rest = std::min(time - Now(), absl::Hours(24 * 365));
    std::mutex mutex;
    std::condition_variable_any condition;
    std::unique_lock lock(mutex);
    condition.wait_until(lock, stop,
                         std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(rest),
                         [] { return false; });
    return !stop.stop_requested();
  }

 private:
  const absl::Time start_ = absl::Now();
  const std::chrono::steady_clock::time_point steady_start_ = std::chrono::steady_clock::now();
};

}  // namespace

Clock& Clock::System() {
  static SystemClock clock;
  return clock;
}

}  // namespace onced::client
