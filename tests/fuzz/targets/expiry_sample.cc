#include "server/storage/codec/expiry_sample.h"

#include "server/storage/codec/wire.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

void CheckShare(const ExpirySample& sample, absl::Time now) {
  const double share = sample.UselessShare(now);
  Demand(share >= 0 && share <= 1, "no share of a whole");
  Demand(share <= sample.UselessShare(absl::InfiniteFuture()), "what was useless is of use again");
}

void Read(absl::string_view bytes, absl::Time now) {
  const absl::StatusOr<ExpirySample> sample = ExpirySample::Decode(bytes);
  if (!sample.ok()) return Demand(absl::IsDataLoss(sample.status()), "refused as something else");
  Demand(sample->Encode() == bytes, "another sample");
  CheckShare(*sample, now);
}

// One that is made of entries, and not read.
void Make(Draw draw) {
  ExpirySample sample(TimeFromStored(draw.Int<std::int64_t>()));
  const absl::Time now = TimeFromStored(draw.Int<std::int64_t>());
  while (!draw.AtEnd()) {
    const absl::Time useless_from = TimeFromStored(draw.Int<std::int64_t>());
    sample.Add(useless_from, draw.Int<std::uint16_t>() << draw.Below(12));
  }
  CheckShare(sample, now);
  Read(sample.Encode(), now);
}

}  // namespace

void ExpirySampleCodec(absl::string_view bytes) {
  const absl::Time now = TimeFromStored(Draw(bytes).Int<std::int64_t>());
  Read(bytes, now);
  WireWriter sealed;
  sealed.Fixed(bytes.data(), bytes.size());
  Read(std::move(sealed).Seal(), now);
  Make(Draw(bytes));
}

}  // namespace onced::fuzz
