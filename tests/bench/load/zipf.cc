#include "tests/bench/load/zipf.h"

#include <algorithm>
#include <cmath>

namespace onced::bench {

Zipf::Zipf(std::int64_t n, double exponent)
    : n_(static_cast<double>(n)),
      exponent_(exponent),
      h_first_(H(1.5) - 1.0),
      h_last_(H(n_ + 0.5)) {}

double Zipf::H(double x) const {
  if (exponent_ == 1.0) return std::log(x);
  return (std::pow(x, 1.0 - exponent_) - 1.0) / (1.0 - exponent_);
}

double Zipf::HInverse(double x) const {
  if (exponent_ == 1.0) return std::exp(x);
  return std::pow(1.0 + x * (1.0 - exponent_), 1.0 / (1.0 - exponent_));
}

std::int64_t Zipf::operator()(std::mt19937_64& random) const {
  std::uniform_real_distribution<double> uniform(h_first_, h_last_);
  while (true) {
    const double u = uniform(random);
    const double k = std::clamp(std::round(HInverse(u)), 1.0, n_);
    if (u >= H(k + 0.5) - std::pow(k, -exponent_)) return static_cast<std::int64_t>(k) - 1;
  }
}

}  // namespace onced::bench
