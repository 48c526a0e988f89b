// When messages are to be sent.
#pragma once

#include <cstdint>
#include <random>

#include "tests/bench/driver.h"

namespace onced::bench {

// Arrivals that know nothing of each other (Poisson), as calls of many callers do.
// Their times are fixed by the seed: what happens to earlier ones moves none.
class Arrivals {
 public:
  Arrivals(Clock::time_point start, double per_second, std::uint64_t seed);

  Clock::time_point next() const { return next_; }
  void Pop();

 private:
  std::mt19937_64 random_;
  std::exponential_distribution<double> gap_;
  const Clock::time_point start_;
  double seconds_ = 0;  // From the start to the next one.
  Clock::time_point next_;
};

}  // namespace onced::bench
