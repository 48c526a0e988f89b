#include "client/cpp/settle.h"

#include <algorithm>

#include "client/cpp/error.h"

namespace onced::client {

Fate FateOf(const absl::Status& error) {
  const ErrorDetails details = DetailsOf(error);
  if (details.domain == kDomain) {
    if (details.reason == "SUPERSEDED" || details.reason == "RESTORED") return Fate::kSuperseded;
    if (details.reason == "COMMITTED_DIFFERENTLY") return Fate::kCommittedDifferently;
    if (details.reason == "ALREADY_COMMITTED") return Fate::kAlreadyCommitted;
    if (details.reason == "NOT_RESERVED") return Fate::kGone;
    if (details.code == absl::StatusCode::kInvalidArgument ||
        details.code == absl::StatusCode::kUnimplemented) {
      return Fate::kRefused;
    }
  }
  // Whatever came from in between: a proxy that is being set up may answer 404, which gRPC takes
  // as UNIMPLEMENTED. And the service's own that are no business of the key's: permissions and
  // tokens that are being replaced come back, and the key was granted with them.
  return Fate::kUnknown;
}

absl::Status Settle(ClientCore& core, absl::Duration budget,
                    const std::function<absl::Status(const CallOptions&)>& attempt) {
  const absl::Time end = core.clock.Now() + budget;
  for (int attempts = 1;; ++attempts) {
    const absl::Duration timeout = std::min(core.options.timeout, end - core.clock.Now());
    absl::Status status = attempt({.deadline = core.clock.WallNow() + timeout});
    if (status.ok() || FateOf(status) != Fate::kUnknown) return status;
    const absl::Time again =
        core.clock.Now() + PauseAfter(core.options.retry, attempts, status, core.uniform);
    if (again >= end) return status;
    (void)core.clock.SleepUntil(again, {});  // Ignored: nobody can stop it.
  }
}

}  // namespace onced::client
