#include "tests/bench/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace onced::bench {
namespace {

constexpr int kLinearBits = 7;
constexpr std::uint64_t kLinear = 1 << kLinearBits;
constexpr int kValueBits = 42;
constexpr std::uint64_t kValueMax = (std::uint64_t{1} << kValueBits) - 1;
constexpr std::size_t kBuckets = (kValueBits - kLinearBits + 1) * kLinear;

// Below 128 a bucket a value; then 128 buckets from 2^n to 2^(n+1).
std::size_t BucketOf(std::uint64_t value) {
  if (value < kLinear) return value;
  const int shift = std::bit_width(value) - kLinearBits - 1;
  return static_cast<std::size_t>(shift) * kLinear + (value >> shift);
}

// The largest value of a bucket.
std::uint64_t TopOf(std::size_t bucket) {
  if (bucket < kLinear) return bucket;
  const std::size_t shift = bucket / kLinear - 1;
  const std::uint64_t within = bucket - shift * kLinear;
  return ((within + 1) << shift) - 1;
}

}  // namespace

Histogram::Histogram() : counts_(kBuckets) {}

void Histogram::Record(Duration time) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  ++counts_[BucketOf(std::min(value, kValueMax))];
  ++count_;
}

void Histogram::Add(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
}

Histogram::Duration Histogram::Percentile(double share) const {
  if (count_ == 0) return Duration{0};
  const double wanted = std::ceil(share * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while ((seen += counts_[bucket]) < rank) ++bucket;
  return Duration{static_cast<std::int64_t>(TopOf(bucket))};
}

}  // namespace onced::bench
