// What a store that comes back from a backup knows of itself.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/random.h"
#include "server/storage/codec/store_meta.h"

namespace onced {

// A server's time, and with it the fences that it hands out, may be ahead of a
// wall clock that is right: by ten of the largest `clock_tolerance`, at most
// (BelievedClock). What is lost since the backup may have been given that much.
inline constexpr absl::Duration kFenceLead = absl::Minutes(10);

// Likewise, a right clock may be behind what the server has seen: by that much,
// at the default tolerance. Time then goes on from what was seen.
inline constexpr absl::Duration kClockLag = absl::Seconds(10);

struct RestoreTerms {
  absl::Time cut_time;  // The backup's.
  absl::Time wall_now;
  std::int64_t fence_floor = 0;  // An operator's; 0: none.
};

// Every fence handed out from now on is larger: the larger of the wall clock,
// with kFenceLead, and the operator's floor. INVALID_ARGUMENT if that is
// negative or above limits::kFenceFloorMax.
absl::StatusOr<Fence> FenceFloorOf(const RestoreTerms& terms);

// Section 6 of docs/protocol.md: the wall clock is believed, unless it is behind
// what the backup has seen by more than kClockLag (FAILED_PRECONDITION with both
// times); tokens get another epoch, so that those from before are dead and what
// they held is held for an operator; fences go on above the floor. The mark
// never goes back.
absl::StatusOr<StoreMeta> RestoredMeta(StoreMeta meta, const RestoreTerms& terms, Random& random);

}  // namespace onced
