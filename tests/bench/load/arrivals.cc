#include "tests/bench/load/arrivals.h"

namespace onced::bench {

Arrivals::Arrivals(Clock::time_point start, double per_second, std::uint64_t seed)
    : random_(seed), gap_(per_second), start_(start) {
  Pop();
}

void Arrivals::Pop() {
  seconds_ += gap_(random_);
  next_ =
      start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_));
}

}  // namespace onced::bench
