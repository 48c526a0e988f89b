#include "tests/bench/report/results.h"

#include <gtest/gtest.h>

namespace onced::bench {
namespace {

TEST(Median, IsTheMiddleOne) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({4, 1, 9, 2}), 3);
}

TEST(Results, KeepRowsInTheOrderInWhichTheyCame) {
  Results results;
  results.Add({.table = "a", .peer = "x"});
  results.Add({.table = "a", .peer = "y"}, {.per_second = 1});
  results.Add({.table = "b", .peer = "x"}, {.per_second = 2});
  results.Add({.table = "a", .peer = "x"}, {.per_second = 3});
  const auto rows = results.Table("a");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]->cell.peer, "x");
  ASSERT_EQ(rows[0]->samples.size(), 1U);
  EXPECT_EQ(rows[0]->samples[0].per_second, 3);
}

// A round in which the machine was slow moves neither.
TEST(MedianRatio, IsOfRoundsAndNotOfMedians) {
  Series a;
  Series b;
  for (const double machine : {1.0, 0.1, 2.0}) {
    a.samples.push_back({.per_second = 50 * machine});
    b.samples.push_back({.per_second = 100 * machine});
  }
  EXPECT_DOUBLE_EQ(*MedianRatio(&a, &b, &Sample::per_second), 0.5);
  b.samples[0].per_second = 500;
  EXPECT_DOUBLE_EQ(*MedianRatio(&a, &b, &Sample::per_second), 0.5);
}

TEST(MedianRatio, IsNoneWithoutSamples) {
  const Series none;
  Series some;
  some.samples.push_back({.per_second = 1});
  EXPECT_FALSE(MedianRatio(&none, &some, &Sample::per_second).has_value());
  EXPECT_FALSE(MedianRatio(&some, nullptr, &Sample::per_second).has_value());
  EXPECT_FALSE(MedianOf(nullptr, &Sample::p50).has_value());
}

}  // namespace
}  // namespace onced::bench
