#include "client/cpp/reservation.h"

#include <algorithm>
#include <utility>

#include "client/cpp/client_core.h"
#include "client/cpp/reservation_state.h"

namespace onced::client {

Reservation::Reservation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reservation::Reservation(Reservation&&) noexcept = default;
Reservation& Reservation::operator=(Reservation&&) noexcept = default;
Reservation::~Reservation() = default;

const Key& Reservation::key() const { return state_->key; }
const std::string& Reservation::token() const { return state_->token; }
std::int64_t Reservation::fence() const { return state_->fence; }
int Reservation::attempt() const { return state_->attempt; }
const std::optional<Previous>& Reservation::previous() const { return state_->previous; }

absl::Duration Reservation::lease_left() const {
  return lease_end() - state_->client.core().clock.Now();
}

absl::Time Reservation::lease_end() const {
  const std::lock_guard lock(state_->mutex);
  return state_->lease_end;
}

absl::Duration Reservation::lease() const {
  const std::lock_guard lock(state_->mutex);
  return state_->lease;
}

absl::StatusOr<Committed> Reservation::Commit(const Result& result, const CommitOptions& options,
                                              const CallOptions& call) {
  return state_->client.Commit(state_->key, state_->token, result, options, call);
}

absl::StatusOr<bool> Reservation::Release(const CallOptions& call) {
  return state_->client.Release(state_->key, state_->token, call);
}

absl::Status Reservation::Extend(const ExtendOptions& options, const CallOptions& call) {
  Sent sent;
  const absl::StatusOr<absl::Time> end =
      state_->client.Extend(state_->key, state_->token, options, call, &sent);
  if (!end.ok()) return end.status();
  const std::lock_guard lock(state_->mutex);
  // As much longer here as it is there; or from when the call was sent, which is before
  // the server counted from.
  const absl::Time longer = state_->lease_end + (*end - state_->server_lease_end);
  const absl::Time counted =
      options.lease_ttl.has_value() ? sent.last + *options.lease_ttl : absl::InfinitePast();
  state_->lease_end = std::max({state_->lease_end, longer, counted});
  state_->server_lease_end = std::max(state_->server_lease_end, *end);
  state_->lease = state_->lease_end - sent.last;
  return absl::OkStatus();
}

}  // namespace onced::client
