#include "client/cpp/settle.h"

#include <algorithm>

#include "client/cpp/error.h"

namespace onced::client {
namespace {

// What the last attempt has at least to be answered in, where the budget allows it.
constexpr absl::Duration kLastTimeout = absl::Seconds(1);

absl::Status Try(const std::function<absl::Status(const CallOptions&)>& attempt,
                 const CallOptions& call) {
  try {
    return attempt(call);
  } catch (...) {
    // As little is known as after an answer that was lost.
    return absl::InternalError("the call threw an exception");
  }
}

}  // namespace

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
  const absl::Time last = end - std::min(kLastTimeout, budget / 4);
  absl::Duration timeout = core.options.timeout;
  for (int attempts = 1;; ++attempts) {
    const absl::Duration rest = end - core.clock.Now();
    absl::Status status =
        Try(attempt, {.deadline = core.clock.WallNow() + std::min(timeout, rest)});
    if (status.ok() || FateOf(status) != Fate::kUnknown) return status;
    const absl::Time now = core.clock.Now();
    if (now >= last) return status;
    // A large result never gets through a thin line in the same time.
    if (absl::IsDeadlineExceeded(status)) timeout *= 2;
    const absl::Duration pause =
        std::max(PauseAfter(core.options.retry, attempts, status, core.uniform), kPauseMin);
    (void)core.clock.SleepUntil(std::min(now + pause, last), {});  // Ignored: nobody can stop it.
  }
}

}  // namespace onced::client
