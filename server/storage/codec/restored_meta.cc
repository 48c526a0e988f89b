#include "server/storage/codec/restored_meta.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/ledger/policy.h"
#include "server/storage/codec/wire.h"

namespace onced {
namespace {

// Zero is the epoch of tokens that nobody ever had.
Epoch AnotherEpoch(Epoch old, Random& random) {
  Epoch epoch;
  do epoch.value = random.Draw<std::uint32_t>();
  while (epoch == Epoch{} || epoch == old);
  return epoch;
}

}  // namespace

absl::StatusOr<Fence> FenceFloorOf(const RestoreTerms& terms) {
  if (terms.fence_floor < 0 || terms.fence_floor > limits::kFenceFloorMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the fence floor must be from 0 to ", limits::kFenceFloorMax, ", not ", terms.fence_floor));
  }
  return Fence{std::max(StoredTime(terms.wall_now + kFenceLead), terms.fence_floor)};
}

absl::StatusOr<StoreMeta> RestoredMeta(StoreMeta meta, const RestoreTerms& terms, Random& random) {
  const absl::StatusOr<Fence> floor = FenceFloorOf(terms);
  if (!floor.ok()) return floor.status();
  const absl::Time wall_now = FloorToMicros(terms.wall_now);
  const absl::Time seen = std::max(meta.clock_mark - kMarkLeadMax, terms.cut_time);
  if (wall_now + kClockLag < seen) {
    return absl::FailedPreconditionError(
        absl::StrCat("the wall clock says ", absl::FormatTime(wall_now, absl::UTCTimeZone()),
                     ", behind the backup, which has seen ",
                     absl::FormatTime(seen, absl::UTCTimeZone()), ": set the clock right first"));
  }
  meta.identity.epoch = AnotherEpoch(meta.identity.epoch, random);
  meta.clock_mark = std::max(meta.clock_mark, wall_now);
  for (Fence& fence : meta.fences) fence = std::max(fence, *floor);
  return meta;
}

}  // namespace onced
