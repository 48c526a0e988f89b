// Numbers of which some are drawn far more often than others.
#pragma once

#include <cstdint>
#include <random>

namespace onced::bench {

// Draws 0 ... n-1, number k with a probability in proportion to 1 / (k+1)^exponent.
// By rejection-inversion (Hörmann and Derflinger, 1996): constant time and space.
class Zipf {
 public:
  Zipf(std::int64_t n, double exponent);
  std::int64_t operator()(std::mt19937_64& random) const;

 private:
  double H(double x) const;  // The integral of the density.
  double HInverse(double x) const;

  const double n_;
  const double exponent_;
  const double h_first_;
  const double h_last_;
};

}  // namespace onced::bench
