// Ending a reservation for sure: the call is repeated until the server has said how it ended.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/call_options.h"
#include "client/cpp/client_core.h"

namespace onced::client {

// What the error of a holder's Commit, Release or Extend says of its reservation.
enum class Fate {
  kUnknown,               // Nothing for sure: to be sent again.
  kSuperseded,            // Another was granted the key, or a backup was restored.
  kCommittedDifferently,  // Another result is stored, and stands.
  kAlreadyCommitted,      // It is committed: a Release or an Extend comes too late.
  kGone,                  // There is no record any more.
  kRefused,               // The call itself is wrong, the service says.
};
Fate FateOf(const absl::Status& error);

// Calls `attempt` until it succeeds, its error is anything but Fate::kUnknown, or `budget` is
// over; pauses as by the policy, with attempts without number. Each has the client's own timeout,
// which is doubled whenever it was too short; an exception of it is one more unknown. Nobody's
// stop ends it. The last answer.
absl::Status Settle(ClientCore& core, absl::Duration budget,
                    const std::function<absl::Status(const CallOptions&)>& attempt);

}  // namespace onced::client
