#include "client/cpp/client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/client_core.h"
#include "client/cpp/convert.h"
#include "client/cpp/duration.h"
#include "client/cpp/request_id.h"
#include "client/cpp/reservation_state.h"

namespace onced::client {
namespace {

template <typename Request>
Request RequestFor(const Key& key) {
  Request request;
  request.set_namespace_(key.name_space);
  request.set_key(key.name);
  return request;
}

google::protobuf::Duration Bounded(absl::Duration duration) {
  return ToProto(std::clamp(duration, -kMaxProtoDuration, kMaxProtoDuration));
}

v1::ReserveRequest RequestOf(const Key& key, const ReserveOptions& options) {
  auto request = RequestFor<v1::ReserveRequest>(key);
  request.set_fingerprint(options.fingerprint);
  request.set_owner(options.owner);
  request.set_request_id(options.request_id.empty() ? NewRequestId() : options.request_id);
  if (options.lease_ttl.has_value()) *request.mutable_lease_ttl() = Bounded(*options.lease_ttl);
  if (options.wait_timeout.has_value()) {
    *request.mutable_wait_timeout() = Bounded(*options.wait_timeout);
  }
  return request;
}

absl::Status Incomplete(const char* what) {
  return absl::InternalError(absl::StrCat("the server's answer has no ", what));
}

// No policy allows a longer one; and as much as its times may have been read apart.
const absl::Duration kLeaseMax = absl::Hours(24) + absl::Minutes(1);

// How long the lease is, of a grant that has all that matters.
absl::StatusOr<absl::Duration> LeaseOf(const v1::ReserveResponse& granted) {
  const v1::Reservation& reservation = granted.reservation();
  if (reservation.token().empty()) return Incomplete("token");
  if (!granted.has_server_time()) return Incomplete("time");
  if (!reservation.has_lease_expire_time()) return Incomplete("end of the lease");
  const absl::Duration lease =
      ToTime(reservation.lease_expire_time()) - ToTime(granted.server_time());
  if (lease > kLeaseMax) return Incomplete("lease of at most 24 h");
  return lease;
}

}  // namespace

Client::Client(std::shared_ptr<ClientCore> core) : core_(std::move(core)) {}

Client Client::Connect(const std::string& target, const ClientOptions& options) {
  return Client(std::make_shared<ClientCore>(NewStub(target, options.connect), options));
}

absl::StatusOr<ReserveOutcome> Client::Reserve(const Key& key, const ReserveOptions& options,
                                               const CallOptions& call) const {
  Sent sent;
  const absl::Duration timeout =
      core_->options.timeout + options.wait_timeout.value_or(absl::ZeroDuration());
  absl::StatusOr<v1::ReserveResponse> response =
      core_->Retrying(&Stub::Reserve, RequestOf(key, options), call, timeout, &sent);
  if (!response.ok()) return response.status();
  switch (response->outcome()) {
    case v1::OUTCOME_FRESH:
      return Granted(key, options, *response, sent);
    case v1::OUTCOME_REPLAYED: {
      v1::Replay& replay = *response->mutable_replay();
      if (!replay.has_result()) return Incomplete("result");
      return Replayed{.result = FromProto(std::move(*replay.mutable_result())),
                      .commit_time = ToTime(replay.commit_time()),
                      .expire_time = ToTime(replay.expire_time()),
                      .fence = replay.fence()};
    }
    case v1::OUTCOME_MISMATCH:
      return Mismatch{FromProto(response->holder())};
    case v1::OUTCOME_UNRESOLVED:
      return Unresolved{FromProto(response->holder())};
    default:
      return Conflict{FromProto(response->holder())};
  }
}

absl::StatusOr<ReserveOutcome> Client::Granted(const Key& key, const ReserveOptions& options,
                                               const v1::ReserveResponse& response,
                                               const Sent& sent) const {
  const absl::StatusOr<absl::Duration> lease = LeaseOf(response);
  if (!lease.ok()) return lease.status();
  const absl::Duration left = *lease;
  const v1::Reservation& granted = response.reservation();
  auto state = std::make_unique<Reservation::State>(*this);
  state->key = key;
  state->token = granted.token();
  state->fence = granted.fence();
  state->attempt = granted.attempt();
  if (granted.has_previous()) state->previous = FromProto(granted.previous());
  state->repeated = sent.attempts > 1;
  state->lease_end = sent.last + left;  // Judged no earlier than it was sent.
  state->server_lease_end = ToTime(granted.lease_expire_time());
  state->lease = std::max(left, options.lease_ttl.value_or(left));
  return Fresh{Reservation(std::move(state))};
}

absl::StatusOr<Record> Client::Inspect(const Key& key, bool include_result,
                                       const CallOptions& call) const {
  auto request = RequestFor<v1::InspectRequest>(key);
  request.set_include_result(include_result);
  absl::StatusOr<v1::InspectResponse> response =
      core_->Retrying(&Stub::Inspect, request, call, core_->options.timeout);
  if (!response.ok()) return response.status();
  return FromProto(*std::move(response));
}

absl::StatusOr<Committed> Client::Commit(const Key& key, const std::string& token,
                                         const Result& result, const CommitOptions& options,
                                         const CallOptions& call) const {
  auto request = RequestFor<v1::CommitRequest>(key);
  request.set_token(token);
  *request.mutable_result() = ToProto(result);
  if (options.retention_ttl.has_value()) {
    *request.mutable_retention_ttl() = Bounded(*options.retention_ttl);
  }
  const absl::StatusOr<v1::CommitResponse> response =
      core_->Retrying(&Stub::Commit, request, call, core_->options.timeout);
  if (!response.ok()) return response.status();
  return FromProto(*response);
}

absl::StatusOr<bool> Client::Release(const Key& key, const std::string& token,
                                     const CallOptions& call) const {
  auto request = RequestFor<v1::ReleaseRequest>(key);
  request.set_token(token);
  const absl::StatusOr<v1::ReleaseResponse> response =
      core_->Retrying(&Stub::Release, request, call, core_->options.timeout);
  if (!response.ok()) return response.status();
  return response->released();
}

absl::StatusOr<absl::Time> Client::Extend(const Key& key, const std::string& token,
                                          const ExtendOptions& options,
                                          const CallOptions& call) const {
  return Extend(key, token, options, call, nullptr);
}

absl::StatusOr<absl::Time> Client::Extend(const Key& key, const std::string& token,
                                          const ExtendOptions& options, const CallOptions& call,
                                          Sent* sent) const {
  auto request = RequestFor<v1::ExtendRequest>(key);
  request.set_token(token);
  if (options.lease_ttl.has_value()) *request.mutable_lease_ttl() = Bounded(*options.lease_ttl);
  if (options.checkpoint.has_value()) request.set_checkpoint(*options.checkpoint);
  const absl::StatusOr<v1::ExtendResponse> response =
      core_->Retrying(&Stub::Extend, request, call, core_->options.timeout, sent);
  if (!response.ok()) return response.status();
  if (!response->has_lease_expire_time()) return Incomplete("end of the lease");
  return ToTime(response->lease_expire_time());
}

ClientStats Client::stats() const {
  return {.attempts = core_->attempts,
          .retries = core_->retries,
          .unprotected_runs = core_->unprotected_runs};
}

}  // namespace onced::client
