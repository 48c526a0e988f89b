#include "tests/bench/load/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace onced::bench {
namespace {

using Nanos = std::chrono::nanoseconds;

TEST(Histogram, OfNothingIsZero) { EXPECT_EQ(Histogram().Percentile(0.5), Nanos(0)); }

TEST(Histogram, IsExactForFewNanoseconds) {
  Histogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.Record(Nanos(i));
  EXPECT_EQ(histogram.count(), 100U);
  EXPECT_EQ(histogram.Percentile(0), Nanos(1));
  EXPECT_EQ(histogram.Percentile(0.5), Nanos(50));
  EXPECT_EQ(histogram.Percentile(0.99), Nanos(99));
  EXPECT_EQ(histogram.Percentile(1), Nanos(100));
}

// Never below the truth, and above it by 1/128 at most.
TEST(Histogram, IsCloseForAllTimes) {
  for (const std::int64_t value :
       {127LL, 128LL, 129LL, 255LL, 256LL, 1'000'003LL, 999'999'999LL, 3'600'000'000'000LL}) {
    Histogram histogram;
    histogram.Record(Nanos(value));
    const std::int64_t told = histogram.Percentile(0.5).count();
    EXPECT_GE(told, value);
    EXPECT_LE(told, value + value / 128) << value;
  }
}

TEST(Histogram, AgreesWithASortedList) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> times(12, 2);
  Histogram histogram;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<std::int64_t>(times(random)));
    histogram.Record(Nanos(all.back()));
  }
  std::sort(all.begin(), all.end());
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const auto truth =
        static_cast<double>(all[static_cast<std::size_t>(std::ceil(share * 20'000)) - 1]);
    const auto told = static_cast<double>(histogram.Percentile(share).count());
    EXPECT_GE(told, truth) << share;
    EXPECT_LE(told, truth * (1 + 1.0 / 128) + 1) << share;
  }
}

TEST(Histogram, CutsWhatIsOutOfRange) {
  Histogram histogram;
  histogram.Record(Nanos(-5));
  EXPECT_EQ(histogram.Percentile(1), Nanos(0));
  histogram.Record(std::chrono::hours(48));
  EXPECT_EQ(histogram.Percentile(1), Nanos((std::int64_t{1} << 42) - 1));
}

TEST(Histogram, AddsAnother) {
  Histogram some;
  Histogram others;
  some.Record(Nanos(10));
  others.Record(Nanos(20));
  others.Record(Nanos(30));
  some.Add(others);
  EXPECT_EQ(some.count(), 3U);
  EXPECT_EQ(some.Percentile(0.5), Nanos(20));
}

}  // namespace
}  // namespace onced::bench
