// How long things took, in little space.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace onced::bench {

// Operation: counts times in buckets, 128 for each power of two nanoseconds, as
//            HdrHistogram does: what it says is at most 1/128 above the truth.
// Limits:    times are cut to 0 ... 2^42 ns (73 minutes).
class Histogram {
 public:
  using Duration = std::chrono::nanoseconds;

  Histogram();

  void Record(Duration time);
  void Add(const Histogram& other);

  std::uint64_t count() const { return count_; }
  // The smallest time of which it can say that this share (0 ... 1) of all took no
  // longer. 0 if there are none.
  Duration Percentile(double share) const;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
};

}  // namespace onced::bench
