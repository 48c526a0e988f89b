#include "tests/bench/load/zipf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace onced::bench {
namespace {

struct Case {
  std::int64_t n;
  double exponent;
};

class ZipfTest : public testing::TestWithParam<Case> {};

TEST_P(ZipfTest, DrawsEachNumberAsOftenAsTheLawSays) {
  const auto [n, exponent] = GetParam();
  constexpr int kDraws = 200'000;
  const Zipf zipf(n, exponent);
  std::mt19937_64 random(3);
  std::vector<int> counts(static_cast<std::size_t>(n));
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t number = zipf(random);
    ASSERT_GE(number, 0);
    ASSERT_LT(number, n);
    ++counts[static_cast<std::size_t>(number)];
  }
  double sum = 0;
  for (std::int64_t k = 1; k <= n; ++k) sum += std::pow(static_cast<double>(k), -exponent);
  for (std::size_t k = 0; k < 5 && k < counts.size(); ++k) {
    const double expected = kDraws * std::pow(static_cast<double>(k + 1), -exponent) / sum;
    // Five standard deviations.
    EXPECT_NEAR(counts[k], expected, 5 * std::sqrt(expected)) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Laws, ZipfTest,
                         testing::Values(Case{1, 0.99}, Case{2, 0.99}, Case{10'000, 0.99},
                                         Case{1'000, 1.0}, Case{1'000, 1.5}));

}  // namespace
}  // namespace onced::bench
