// When a call that failed is sent again.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace onced::client {

// A call is sent again only if it failed as UNAVAILABLE: the server is starting, ending or
// out of reach; also a call that was cancelled by neither its caller nor the service, but cut off
// on its way, which counts and is returned as UNAVAILABLE. Every call may be repeated: each attempt
// carries the same request_id or token, so that none undoes or doubles anything.
//
// The n-th pause is between 0 and min(backoff_max, backoff_first * 2^(n-1)), evenly
// spread ("full jitter"); where the service said how long to wait, that is put before it.
struct RetryPolicy {
  // All of them, the first too. 1: a call is never repeated.
  int attempts_max = 4;
  absl::Duration backoff_first = absl::Milliseconds(100);
  absl::Duration backoff_max = absl::Seconds(2);
};

// Between two of calls that are repeated without number, whatever anybody asks for.
inline constexpr absl::Duration kPauseMin = absl::Milliseconds(20);

// Evenly spread in [0, 1).
using Uniform = std::function<double()>;

// From a generator of the calling thread's own.
double RandomFraction() noexcept;

// The pause after `attempt` attempts, from 1 on, of which the last failed as `error`. How long a
// proxy says to wait doesn't count.
absl::Duration PauseAfter(const RetryPolicy& policy, int attempt, const absl::Status& error,
                          const Uniform& uniform);

}  // namespace onced::client
