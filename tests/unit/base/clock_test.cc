#include "server/base/clock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "absl/time/clock.h"

namespace onced {
namespace {

bool IsWholeMicros(absl::Time time) {
  return absl::FromUnixMicros(absl::ToUnixMicros(time)) == time;
}

TEST(SystemClock, StartsAtTheTimeOfDay) {
  const absl::Time before = FloorToMicros(absl::Now());
  const SystemClock clock;
  const absl::Time now = clock.Now();
  EXPECT_GE(now, before);
  EXPECT_LT(now, before + absl::Hours(1));  // However slow this machine is.
}

TEST(SystemClock, NeverStartsBeforeWhatItWasTold) {
  const absl::Time future = FloorToMicros(absl::Now()) + absl::Hours(24 * 365);
  const SystemClock clock(future);
  EXPECT_GE(clock.Now(), future);
  EXPECT_LT(clock.Now(), future + absl::Hours(1));
}

TEST(SystemClock, IsNotHeldBackByATimeThatHasPassed) {
  const absl::Time before = FloorToMicros(absl::Now());
  const SystemClock clock(before - absl::Hours(24 * 365));
  EXPECT_GE(clock.Now(), before);
}

TEST(SystemClock, GoesForwardInWholeMicroseconds) {
  // A start between two microseconds must not show either.
  const SystemClock clock(absl::Now() + absl::Hours(1) + absl::Nanoseconds(300));
  absl::Time last = clock.Now();
  const absl::Time first = last;
  while (last < first + absl::Milliseconds(2)) {
    const absl::Time now = clock.Now();
    ASSERT_GE(now, last);
    ASSERT_TRUE(IsWholeMicros(now)) << now;
    last = now;
  }
}

TEST(SystemClock, IsReadByManyThreads) {
  const SystemClock clock;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&clock] {
      absl::Time last = clock.Now();
      for (int n = 0; n < 10'000; ++n) {
        const absl::Time now = clock.Now();
        EXPECT_GE(now, last);
        last = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FloorToMicros, DropsWhatIsBelowAMicrosecond) {
  const absl::Time whole = absl::FromUnixMicros(1'700'000'000'000'001);
  EXPECT_EQ(FloorToMicros(whole), whole);
  EXPECT_EQ(FloorToMicros(whole + absl::Nanoseconds(1)), whole);
  EXPECT_EQ(FloorToMicros(whole + absl::Nanoseconds(999)), whole);
  EXPECT_EQ(FloorToMicros(whole + absl::Nanoseconds(1000)), whole + absl::Microseconds(1));
  // Down, not towards zero.
  EXPECT_EQ(FloorToMicros(absl::UnixEpoch() - absl::Nanoseconds(1)), absl::FromUnixMicros(-1));
}

}  // namespace
}  // namespace onced
