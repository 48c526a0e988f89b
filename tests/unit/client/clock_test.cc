#include "client/cpp/clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "gtest/gtest.h"

namespace {

// How long the machine has slept, as far as this program is told.
std::atomic<std::int64_t> asleep_s = 0;
// How often the clock that notices it was read.
std::atomic<int> reads = 0;

}  // namespace

// Stands before the C library's, in all of this program.
extern "C" int clock_gettime(clockid_t id, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, id, time);
  if (id == CLOCK_BOOTTIME) {
    time->tv_sec += asleep_s;
    ++reads;
  }
  return static_cast<int>(result);
}

namespace onced::client {
namespace {

TEST(SystemClock, GoesOnWhileTheMachineSleeps) {
  const absl::Time before = Clock::System().Now();
  asleep_s += 3600;
  EXPECT_GE(Clock::System().Now() - before, absl::Hours(1));
}

TEST(SystemClock, WakesUpSoonAfterTheMachine) {
  const absl::Time time = Clock::System().Now() + absl::Hours(1);
  bool reached = false;
  const int before = reads;
  std::thread sleeper([&] { reached = Clock::System().SleepUntil(time, {}); });
  while (reads == before) std::this_thread::yield();  // It knows how long it has to sleep.
  asleep_s += 3600;
  sleeper.join();
  EXPECT_TRUE(reached);
}

TEST(SystemClock, StopsSleepingWhenToldTo) {
  std::stop_source stop;
  bool reached = true;
  std::thread sleeper(
      [&] { reached = Clock::System().SleepUntil(absl::InfiniteFuture(), stop.get_token()); });
  stop.request_stop();
  sleeper.join();
  EXPECT_FALSE(reached);
  EXPECT_FALSE(Clock::System().SleepUntil(absl::InfinitePast(), stop.get_token()));
  EXPECT_TRUE(Clock::System().SleepUntil(absl::InfinitePast(), {}));
}

}  // namespace
}  // namespace onced::client
