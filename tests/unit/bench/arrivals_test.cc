#include "tests/bench/load/arrivals.h"

#include <gtest/gtest.h>

namespace onced::bench {
namespace {

constexpr Clock::time_point kStart{std::chrono::seconds(1'000)};

TEST(Arrivals, ComeAtTheRateThatWasAskedFor) {
  Arrivals arrivals(kStart, /*per_second=*/10'000, /*seed=*/7);
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) arrivals.Pop();
  const double seconds = std::chrono::duration<double>(arrivals.next() - kStart).count();
  EXPECT_NEAR(seconds, 10, 0.2);
}

TEST(Arrivals, NeverGoBackAndVary) {
  Arrivals arrivals(kStart, 1'000, 7);
  Clock::duration least = std::chrono::hours(1);
  Clock::duration most{};
  Clock::time_point before = kStart;
  for (int i = 0; i < 1'000; ++i, arrivals.Pop()) {
    ASSERT_GE(arrivals.next(), before);
    least = std::min(least, arrivals.next() - before);
    most = std::max(most, arrivals.next() - before);
    before = arrivals.next();
  }
  EXPECT_LT(least, std::chrono::microseconds(100));
  EXPECT_GT(most, std::chrono::milliseconds(3));
}

TEST(Arrivals, AreTheSeeds) {
  Arrivals one(kStart, 1'000, 7);
  Arrivals same(kStart, 1'000, 7);
  Arrivals other(kStart, 1'000, 8);
  EXPECT_EQ(one.next(), same.next());
  EXPECT_NE(one.next(), other.next());
}

}  // namespace
}  // namespace onced::bench
