#include "client/cpp/lease_keeper.h"

#include <algorithm>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/client_core.h"
#include "client/cpp/reservation_state.h"
#include "client/cpp/settle.h"

namespace onced::client {
namespace {

// Of a call on a lease so short that a third of it is too little for any network.
constexpr absl::Duration kTimeoutMin = absl::Seconds(1);
// Between two calls, whatever the server says of the lease's end.
constexpr absl::Duration kPauseMin = absl::Milliseconds(20);

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
      options_(options),
      end_(reservation.state_->client.core().clock.Now() + options.keep_max),
      thread_(reservation.state_->client.core().start_thread(
          [this](const std::stop_token& stop) { Run(stop); })) {}

LeaseKeeper::~LeaseKeeper() = default;  // The thread's own destructor stops and joins it.

void LeaseKeeper::Run(const std::stop_token& stop) {
  const ClientCore& core = reservation_.state_->client.core();
  std::optional<absl::Time> next = Due();
  while (next.has_value() && *next < end_ && core.clock.SleepUntil(*next, stop)) {
    next = Extend(stop);
  }
}

absl::Time LeaseKeeper::Due() const {
  return reservation_.lease_end() - reservation_.lease() * 2 / 3;
}

std::optional<absl::Time> LeaseKeeper::Extend(const std::stop_token& stop) {
  const ClientCore& core = reservation_.state_->client.core();
  const absl::Duration timeout =
      std::min(core.options.timeout, std::max(reservation_.lease() / 3, kTimeoutMin));
  CallOptions call = options_.call;
  call.deadline = core.clock.WallNow() + timeout;
  call.stop = stop;
  const absl::Status status = reservation_.Extend({.lease_ttl = options_.lease_ttl}, call);
  if (status.ok()) {
    failures_ = 0;
    return std::max(Due(), core.clock.Now() + kPauseMin);
  }
  const Fate fate = FateOf(status);
  if (fate == Fate::kUnknown || fate == Fate::kRefused) {
    return core.clock.Now() + PauseAfter(core.options.retry, ++failures_, status, core.uniform);
  }
  lost_.request_stop();
  return std::nullopt;
}

}  // namespace onced::client
