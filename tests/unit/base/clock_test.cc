#include "server/base/clock.h"

#include <gtest/gtest.h>

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

TEST(SystemClock, TellsWholeMicroseconds) {
  const SystemClock clock;
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(IsWholeMicros(clock.Now()));
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
