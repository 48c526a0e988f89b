#include "server/rpc/translate.h"

#include <variant>

#include "server/base/check.h"
#include "server/rpc/proto_time.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;
using onced::Set;  // Of times: else hidden by those below.

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

void Set(v1::Result& to, const Result& from) {
  to.set_status_code(from.status_code);
  for (const Header& header : from.headers) {
    v1::Header* added = to.add_headers();
    added->set_name(header.name);
    added->set_value(header.value);
  }
  to.set_body(from.body);
  to.set_body_size(from.body_size);
  to.set_body_sha256(from.body_sha256);
  to.set_body_omitted(from.body_omitted);
  to.set_headers_omitted(from.headers_omitted);
}

void Set(v1::Previous& to, const Previous& from, const std::string& checkpoint) {
  to.set_fence(from.fence.value);
  to.set_owner(from.owner);
  Set(*to.mutable_lapse_time(), from.lapse_time);
  to.set_checkpoint(checkpoint);
}

void Set(v1::Reservation& to, const Fresh& from) {
  to.set_token(from.token.ToText());
  to.set_fence(from.fence.value);
  to.set_attempt(static_cast<std::int32_t>(from.attempt));
  Set(*to.mutable_lease_expire_time(), from.lease_expire_time);
  if (from.previous.has_value()) Set(*to.mutable_previous(), *from.previous, from.checkpoint);
}

void Set(v1::Replay& to, const Replayed& from) {
  Set(*to.mutable_result(), *from.result);
  Set(*to.mutable_commit_time(), from.commit_time);
  Set(*to.mutable_expire_time(), from.expire_time);
  to.set_fence(from.fence.value);
}

void Set(v1::Holder& to, const Holder& from) {
  to.set_state(ApiStateOf(from.state));
  to.set_owner(from.owner);
  to.set_fence(from.fence.value);
  Set(*to.mutable_reserve_time(), from.reserve_time);
  if (from.lease_expire_time) Set(*to.mutable_lease_expire_time(), *from.lease_expire_time);
}

void Set(v1::Record& to, const Pending& from) {
  // Whether it is held can differ from `from.on_lapse` after a restore; then
  // the record has no expire_time.
  to.set_on_lapse(ApiOnLapseOf(to.has_expire_time() ? from.on_lapse : OnLapse::kHold));
  if (from.previous.has_value()) Set(*to.mutable_previous(), *from.previous, from.checkpoint);
  to.set_checkpoint(from.checkpoint);
}

void Set(v1::Record& to, const Inspected& from, bool include_result) {
  to.set_state(ApiStateOf(from.state));
  if (!from.record.has_value()) return;
  const Record& record = *from.record;
  to.set_fence(record.fence.value);
  to.set_attempt(static_cast<std::int32_t>(record.attempt));
  to.set_owner(record.owner);
  to.set_fingerprint(record.fingerprint);
  Set(*to.mutable_reserve_time(), record.reserve_time);
  if (from.expire_time) Set(*to.mutable_expire_time(), *from.expire_time);
  if (from.lease_expire_time) Set(*to.mutable_lease_expire_time(), *from.lease_expire_time);
  if (const auto* pending = std::get_if<Pending>(&record.phase)) return Set(to, *pending);
  const auto& committed = std::get<Committed>(record.phase);
  Set(*to.mutable_commit_time(), committed.commit_time);
  to.set_late(committed.late);
  if (include_result) Set(*to.mutable_result(), *committed.result);
}

// A reply of another kind than the request's is a bug of this server.
template <typename T>
const T& As(const Answer& answer) {
  const T* reply = std::get_if<T>(&answer.reply);
  ONCED_CHECK(reply != nullptr);
  return *reply;
}

}  // namespace

// No default in any of these: a new value does not compile until it has a name
// in the API.
v1::State ApiStateOf(State state) {
  switch (state) {
    case State::kAbsent:
      return v1::STATE_ABSENT;
    case State::kPending:
      return v1::STATE_PENDING;
    case State::kLapsed:
      return v1::STATE_LAPSED;
    case State::kCommitted:
      return v1::STATE_COMMITTED;
  }
  __builtin_unreachable();
}

v1::OnLapse ApiOnLapseOf(OnLapse on_lapse) {
  switch (on_lapse) {
    case OnLapse::kRegrant:
      return v1::ON_LAPSE_REGRANT;
    case OnLapse::kHold:
      return v1::ON_LAPSE_HOLD;
  }
  __builtin_unreachable();
}

v1::ReserveResponse ReserveResponseOf(const Answer& answer) {
  v1::ReserveResponse to;
  Set(*to.mutable_server_time(), answer.server_time);
  // Named one by one, so that a new answer does not compile until it has a place.
  const auto not_an_answer = [] { ONCED_CHECK(!"an answer to Reserve"); };
  const auto verdict = [&](v1::Outcome outcome, const Holder& holder) {
    to.set_outcome(outcome);
    Set(*to.mutable_holder(), holder);
  };
  std::visit(
      Overloaded{
          [&](const Fresh& fresh) {
            to.set_outcome(v1::OUTCOME_FRESH);
            Set(*to.mutable_reservation(), fresh);
          },
          [&](const Replayed& replayed) {
            to.set_outcome(v1::OUTCOME_REPLAYED);
            Set(*to.mutable_replay(), replayed);
          },
          [&](const Conflict& conflict) {
            verdict(v1::OUTCOME_CONFLICT, conflict.holder);
            Set(*to.mutable_holder()->mutable_retry_delay(), conflict.retry_delay);
          },
          [&](const Mismatch& mismatch) { verdict(v1::OUTCOME_MISMATCH, mismatch.holder); },
          [&](const Unresolved& unresolved) { verdict(v1::OUTCOME_UNRESOLVED, unresolved.holder); },
          [&](const Parked&) { not_an_answer(); }, [&](const CommitDone&) { not_an_answer(); },
          [&](const ReleaseDone&) { not_an_answer(); }, [&](const ExtendDone&) { not_an_answer(); },
          [&](const Inspected&) { not_an_answer(); }, [&](const ResolveDone&) { not_an_answer(); },
          [&](const EvictDone&) { not_an_answer(); }, [&](const Refused&) { not_an_answer(); }},
      answer.reply);
  return to;
}

v1::CommitResponse CommitResponseOf(const Answer& answer) {
  const auto& from = As<CommitDone>(answer);
  v1::CommitResponse to;
  Set(*to.mutable_commit_time(), from.commit_time);
  Set(*to.mutable_expire_time(), from.expire_time);
  to.set_already_committed(from.already_committed);
  to.set_late(from.late);
  to.set_body_omitted(from.body_omitted);
  to.set_headers_omitted(from.headers_omitted);
  return to;
}

v1::ReleaseResponse ReleaseResponseOf(const Answer& answer) {
  v1::ReleaseResponse to;
  to.set_released(As<ReleaseDone>(answer).released);
  return to;
}

v1::ExtendResponse ExtendResponseOf(const Answer& answer) {
  v1::ExtendResponse to;
  Set(*to.mutable_lease_expire_time(), As<ExtendDone>(answer).lease_expire_time);
  return to;
}

v1::InspectResponse InspectResponseOf(const Answer& answer, bool include_result) {
  v1::InspectResponse to;
  Set(*to.mutable_server_time(), answer.server_time);
  Set(*to.mutable_record(), As<Inspected>(answer), include_result);
  return to;
}

}  // namespace onced
