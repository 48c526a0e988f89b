#include "server/storage/codec/expiry_sample.h"

#include <algorithm>

#include "absl/status/status.h"
#include "server/storage/codec/wire.h"

namespace onced {
namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

void ExpirySample::Add(absl::Time useless_from, std::size_t bytes) {
  since_last_ += bytes;
  while (since_last_ >= stride_) {
    since_last_ -= stride_;
    points_.push_back(useless_from);
    if (points_.size() == kPointsMax) Thin();
  }
}

// Keeps the last of every two.
void ExpirySample::Thin() {
  for (std::size_t i = 0; i < kPointsMax / 2; ++i) points_[i] = points_[2 * i + 1];
  points_.resize(kPointsMax / 2);
  stride_ *= 2;
}

double ExpirySample::UselessShare(absl::Time now) const {
  if (points_.empty()) return 0;
  const auto useless = std::count_if(points_.begin(), points_.end(), [&](absl::Time from) {
    return from == absl::InfinitePast() || (from > kept_until_ && from <= now);
  });
  return static_cast<double>(useless) / static_cast<double>(points_.size());
}

std::string ExpirySample::Encode() const {
  std::vector<absl::Time> sorted = points_;
  std::sort(sorted.begin(), sorted.end());
  WireWriter out;
  out.Int(kVersion);
  out.Time(kept_until_);
  out.Int(static_cast<std::uint32_t>(sorted.size()));
  for (const absl::Time point : sorted) out.Time(point);
  return std::move(out).Seal();
}

absl::StatusOr<ExpirySample> ExpirySample::Decode(absl::string_view bytes) {
  const auto damaged = [] { return absl::DataLossError("a file's expiry is in no format known"); };
  if (!Unseal(bytes)) return damaged();
  WireReader in(bytes);
  in.Require(in.Int<std::uint8_t>() == kVersion);
  ExpirySample sample(in.Time());
  const auto count = in.Int<std::uint32_t>();
  in.Require(count < kPointsMax);
  for (std::uint32_t i = 0; in.ok() && i < count; ++i) {
    sample.points_.push_back(in.Time());
    in.Require(i == 0 || sample.points_[i] >= sample.points_[i - 1]);
  }
  in.Require(in.left() == 0);
  if (!in.ok()) return damaged();
  return sample;
}

}  // namespace onced
