// What goes with a call beside its request.
#pragma once

#include <stop_token>
#include <string>

#include "absl/time/time.h"

namespace onced::client {

struct CallOptions {
  // Past it, the call fails as DEADLINE_EXCEEDED, which says nothing about
  // whether it was executed. A Reserve that waits needs more than its
  // `wait_timeout`: the server ends the wait shortly before the deadline.
  absl::Time deadline = absl::InfiniteFuture();
  // The caller's W3C trace context, to be sent with the call; empty: none. What can't be
  // a header's value, or has more than 1,024 bytes, is left out.
  std::string traceparent = {};
  std::string tracestate = {};
  // When a stop is requested the call fails as CANCELLED, which says nothing about
  // whether it was executed.
  std::stop_token stop = {};
};

}  // namespace onced::client
