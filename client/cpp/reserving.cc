#include "client/cpp/reserving.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "client/cpp/error.h"
#include "client/cpp/request_id.h"
#include "client/cpp/security.h"

namespace onced::client {
namespace {

// No policy allows one call to wait longer.
constexpr absl::Duration kWaitPerCallMax = absl::Seconds(60);
// Where the answer doesn't say how long: of a verdict that this version doesn't know.
constexpr absl::Duration kPauseUntold = absl::Seconds(1);
// A Reserve that may wait and isn't answered for that long waits: another has the key.
constexpr absl::Duration kParked = absl::Seconds(1);

absl::Duration PauseOf(const Holder& holder) {
  if (holder.retry_delay <= absl::ZeroDuration()) return kPauseUntold;
  return std::max(holder.retry_delay, kPauseMin);
}

}  // namespace

Reserving::Reserving(const Client& client, const Key& key, const std::string& fingerprint,
                     const RunOptions& options)
    : client_(client),
      core_(client.core()),
      key_(key),
      run_(options),
      start_(core_.clock.Now()),
      options_{
          .fingerprint = fingerprint,
          .owner = options.owner,
          .request_id = options.request_id.empty() ? NewRequestId() : options.request_id,
          .lease_ttl = options.lease_ttl,
      } {}

absl::StatusOr<ReserveOutcome> Reserving::Wait() {
  while (true) {
    absl::StatusOr<ReserveOutcome> reserved = Reserve();
    if (!reserved.ok() || !std::holds_alternative<Conflict>(*reserved)) return reserved;
    held_ = true;
    const absl::Duration pause = PauseOf(std::get<Conflict>(*reserved).holder);
    if (!MayWait(pause)) return reserved;
    // Ignored: the next call looks at the stop.
    (void)core_.clock.SleepUntil(core_.clock.Now() + pause, run_.call.stop);
  }
}

absl::StatusOr<ReserveOutcome> Reserving::Reserve() {
  if (run_.wait_timeout.has_value()) {
    options_.wait_timeout = std::clamp(Rest(), absl::ZeroDuration(), kWaitPerCallMax);
  }
  const bool waits = options_.wait_timeout.value_or(absl::ZeroDuration()) > absl::ZeroDuration();
  const absl::Time sent = core_.clock.Now();
  absl::StatusOr<ReserveOutcome> reserved = client_.Reserve(key_, options_, run_.call);
  if (waits && core_.clock.Now() - sent > kParked) held_ = true;
  return reserved;
}

absl::Duration Reserving::Rest() const {
  return start_ + run_.wait_timeout.value_or(absl::ZeroDuration()) - core_.clock.Now();
}

bool Reserving::MayWait(absl::Duration pause) const {
  return pause < Rest() && core_.clock.WallNow() + pause < run_.call.deadline;
}

bool OutOfReach(const ClientCore& core, const absl::Status& error) {
  const ErrorDetails details = DetailsOf(error);
  if (details.domain == kDomain) return details.reason == "DRAINING";
  // Where the token's file can't be read gRPC says so as if it couldn't connect.
  const std::string& token_file = core.options.connect.auth_token_file;
  if (!token_file.empty() && !CheckTokenFile(token_file).ok()) return false;
  if (absl::StartsWith(error.message(), "Getting metadata from plugin failed")) return false;
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error);
}

}  // namespace onced::client
