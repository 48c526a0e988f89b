#include "client/cpp/lease_keeper.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/client_core.h"
#include "client/cpp/reservation_state.h"
#include "client/cpp/settle.h"

namespace onced::client {
namespace {

// Of a call on a lease so short that a third of it is too little for any network.
constexpr absl::Duration kTimeoutMin = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::unique_ptr<LeaseKeeper>> LeaseKeeper::Start(Reservation& reservation,
                                                                const Options& options) {
  try {
    return absl::WrapUnique(new LeaseKeeper(reservation, options));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread can be made to extend the lease: ", error.what()));
  }
}

LeaseKeeper::LeaseKeeper(Reservation& reservation, const Options& options)
    : reservation_(reservation),
      core_(reservation.state_->client.core()),
      options_(options),
      end_(core_.clock.Now() + options.keep_max),
      lease_ttl_(options.lease_ttl),
      thread_(core_.start_thread([this](const std::stop_token& stop) { Run(stop); })) {}

LeaseKeeper::~LeaseKeeper() = default;  // The thread's own destructor stops and joins it.

void LeaseKeeper::Run(const std::stop_token& stop) {
  absl::Time next = Due();
  while (true) {
    if (next >= end_) next = absl::InfiniteFuture();
    const absl::Time wake = std::min(next, Over());
    if (wake == absl::InfiniteFuture() || !core_.clock.SleepUntil(wake, stop)) return;
    if (reservation_.lease_left() <= absl::ZeroDuration()) lost_.request_stop();
    if (core_.clock.Now() >= next) next = TryExtend(stop);
  }
}

absl::Time LeaseKeeper::Due() const {
  return reservation_.lease_end() - reservation_.lease() * 2 / 3;
}

absl::Time LeaseKeeper::Over() const {
  return lost_.stop_requested() ? absl::InfiniteFuture() : reservation_.lease_end();
}

absl::Time LeaseKeeper::TryExtend(const std::stop_token& stop) {
  try {
    return Extend(stop);
  } catch (...) {
    // Such as for a lack of memory: the work goes on, and so does this.
    ++failures_;
    return After(PauseMax());
  }
}

absl::Time LeaseKeeper::Extend(const std::stop_token& stop) {
  const absl::Status status = Send(stop);
  if (status.ok()) {
    failures_ = 0;
    return std::max(Due(), After(kPauseMin));
  }
  switch (FateOf(status)) {
    case Fate::kUnknown:
      return After(std::min(PauseAfter(core_.options.retry, ++failures_, status, core_.uniform),
                            PauseMax()));
    case Fate::kRefused:
      return AfterRefusal();
    case Fate::kSuperseded:
    case Fate::kCommittedDifferently:
    case Fate::kAlreadyCommitted:
    case Fate::kGone:
      break;
  }
  lost_.request_stop();
  return absl::InfiniteFuture();
}

absl::Time LeaseKeeper::AfterRefusal() {
  // The policy's bounds are others by now than when it was granted, perhaps.
  if (std::exchange(lease_ttl_, std::nullopt).has_value()) return After(kPauseMin);
  lost_.request_stop();
  return absl::InfiniteFuture();
}

absl::Time LeaseKeeper::After(absl::Duration pause) const {
  return core_.clock.Now() + std::max(pause, kPauseMin);
}

absl::Status LeaseKeeper::Send(const std::stop_token& stop) {
  CallOptions call = options_.call;
  call.deadline = core_.clock.WallNow() + Timeout();
  call.stop = stop;
  return reservation_.Extend({.lease_ttl = lease_ttl_}, call);
}

absl::Duration LeaseKeeper::Timeout() const {
  const absl::Duration timeout =
      std::min(core_.options.timeout, std::max(reservation_.lease() / 3, kTimeoutMin));
  const absl::Duration left = reservation_.lease_left();
  // The lease's end is not to be noticed later for a call that hangs.
  return left > absl::ZeroDuration() ? std::min(timeout, left) : timeout;
}

absl::Duration LeaseKeeper::PauseMax() const {
  const absl::Duration often = reservation_.lease() / 6;
  const absl::Duration left = reservation_.lease_left();
  return left > absl::ZeroDuration() ? std::min(often, left / 2) : often;
}

}  // namespace onced::client
