#include "tests/fault/answers.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cpp/duration.h"
#include "client/cpp/error.h"

namespace onced::fault {
namespace {

std::int64_t Micros(const google::protobuf::Duration& duration) {
  return absl::ToInt64Microseconds(client::FromProto(duration));
}
std::int64_t Micros(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1'000'000 + time.nanos() / 1'000;
}

template <typename Request>
Call CallFor(Op op, const Request& request) {
  Call call;
  call.op = op;
  call.key = absl::StrCat(request.namespace_(), "/", request.key());
  return call;
}

State StateOf(v1::State state) {
  switch (state) {
    case v1::STATE_ABSENT:
      return State::kAbsent;
    case v1::STATE_PENDING:
      return State::kPending;
    case v1::STATE_LAPSED:
      return State::kLapsed;
    case v1::STATE_COMMITTED:
      return State::kCommitted;
    default:
      return State::kUnsaid;
  }
}

Said SaidOf(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_FRESH:
      return Said::kFresh;
    case v1::OUTCOME_REPLAYED:
      return Said::kReplayed;
    case v1::OUTCOME_CONFLICT:
      return Said::kConflict;
    case v1::OUTCOME_MISMATCH:
      return Said::kMismatch;
    case v1::OUTCOME_UNRESOLVED:
      return Said::kUnresolved;
    default:
      return Said::kNothing;
  }
}

Answer Ok(Said said) {
  Answer answer;
  answer.status = Status::kOk;
  answer.said = said;
  return answer;
}

void Add(const v1::Reservation& reservation, Answer& answer) {
  answer.token = reservation.token();
  answer.fence = reservation.fence();
  answer.attempt = reservation.attempt();
  answer.lease_end = Micros(reservation.lease_expire_time());
  answer.previous_fence = reservation.previous().fence();
  answer.previous_owner = reservation.previous().owner();
  answer.checkpoint = reservation.previous().checkpoint();
}
void Add(const v1::Replay& replay, Answer& answer) {
  answer.state = State::kCommitted;
  answer.result = DigestOf(replay.result());
  answer.commit_time = Micros(replay.commit_time());
  answer.expire_time = Micros(replay.expire_time());
  answer.fence = replay.fence();
}
void Add(const v1::Holder& holder, Answer& answer) {
  answer.state = StateOf(holder.state());
  answer.owner = holder.owner();
  answer.fence = holder.fence();
  if (holder.has_lease_expire_time()) answer.lease_end = Micros(holder.lease_expire_time());
}

// The rules that the caller broke, each an error that is a verdict on the key.
const std::map<std::string, Said>& Verdicts() {
  static const auto& verdicts = *new std::map<std::string, Said>{
      {"SUPERSEDED", Said::kSuperseded},
      {"COMMITTED_DIFFERENTLY", Said::kCommittedDifferently},
      {"ALREADY_COMMITTED", Said::kAlreadyCommitted},
      {"NOT_RESERVED", Said::kNotReserved},
  };
  return verdicts;
}

State StateNamed(const std::string& name) {
  v1::State state{};
  return v1::State_Parse("STATE_" + name, &state) || v1::State_Parse(name, &state) ? StateOf(state)
                                                                                   : State::kUnsaid;
}

Answer AnswerOf(const client::ErrorDetails& error) {
  Answer answer;
  answer.reason = error.reason.empty() ? absl::StatusCodeToString(error.code) : error.reason;
  const auto verdict = Verdicts().find(error.reason);
  if (verdict == Verdicts().end()) {
    answer.status = error.OutcomeUnknown() ? Status::kUnknown : Status::kFail;
    return answer;
  }
  answer.status = Status::kOk;
  answer.said = verdict->second;
  if (const auto state = error.metadata.find("state"); state != error.metadata.end()) {
    answer.state = StateNamed(state->second);
  }
  if (const auto fence = error.metadata.find("fence"); fence != error.metadata.end()) {
    answer.fence = std::stoll(fence->second);
  }
  return answer;
}

}  // namespace

std::string DigestOf(const v1::Result& result) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const v1::Header& header : result.headers()) {
    headers.emplace_back(header.name(), header.value());
  }
  return Digest(result.status_code(), headers, result.body());
}

Call CallOf(const v1::ReserveRequest& request) {
  Call call = CallFor(Op::kReserve, request);
  call.request_id = request.request_id();
  call.fingerprint = request.fingerprint();
  call.owner = request.owner();
  call.ttl = Micros(request.lease_ttl());
  return call;
}
Call CallOf(const v1::CommitRequest& request) {
  Call call = CallFor(Op::kCommit, request);
  call.token = request.token();
  call.result = DigestOf(request.result());
  call.ttl = Micros(request.retention_ttl());
  return call;
}
Call CallOf(const v1::ReleaseRequest& request) {
  Call call = CallFor(Op::kRelease, request);
  call.token = request.token();
  return call;
}
Call CallOf(const v1::ExtendRequest& request) {
  Call call = CallFor(Op::kExtend, request);
  call.token = request.token();
  call.ttl = Micros(request.lease_ttl());
  call.has_checkpoint = request.has_checkpoint();
  call.checkpoint = request.checkpoint();
  return call;
}
Call CallOf(const v1::InspectRequest& request) { return CallFor(Op::kInspect, request); }
Call CallOf(const v1::Operation& operation) {
  switch (operation.operation_case()) {
    case v1::Operation::kReserve:
      return CallOf(operation.reserve());
    case v1::Operation::kCommit:
      return CallOf(operation.commit());
    case v1::Operation::kRelease:
      return CallOf(operation.release());
    case v1::Operation::kExtend:
      return CallOf(operation.extend());
    default:
      return CallOf(operation.inspect());
  }
}

Answer AnswerOf(const v1::ReserveResponse& response) {
  Answer answer = Ok(SaidOf(response.outcome()));
  answer.server_time = Micros(response.server_time());
  if (response.has_reservation()) Add(response.reservation(), answer);
  if (response.has_replay()) Add(response.replay(), answer);
  if (response.has_holder()) Add(response.holder(), answer);
  return answer;
}
Answer AnswerOf(const v1::CommitResponse& response) {
  Answer answer = Ok(Said::kCommitted);
  answer.commit_time = Micros(response.commit_time());
  answer.expire_time = Micros(response.expire_time());
  answer.already = response.already_committed();
  answer.late = response.late();
  return answer;
}
Answer AnswerOf(const v1::ReleaseResponse& response) {
  return Ok(response.released() ? Said::kReleased : Said::kNothingToRelease);
}
Answer AnswerOf(const v1::ExtendResponse& response) {
  Answer answer = Ok(Said::kExtended);
  answer.lease_end = Micros(response.lease_expire_time());
  return answer;
}
Answer AnswerOf(const v1::InspectResponse& response) {
  const v1::Record& record = response.record();
  Answer answer = Ok(Said::kSeen);
  answer.server_time = Micros(response.server_time());
  answer.state = StateOf(record.state());
  answer.fence = record.fence();
  answer.attempt = record.attempt();
  answer.owner = record.owner();
  if (record.has_lease_expire_time()) answer.lease_end = Micros(record.lease_expire_time());
  answer.previous_fence = record.previous().fence();
  answer.previous_owner = record.previous().owner();
  answer.checkpoint = record.checkpoint();
  if (answer.state != State::kCommitted) return answer;
  answer.commit_time = Micros(record.commit_time());
  answer.expire_time = Micros(record.expire_time());
  answer.late = record.late();
  if (record.has_result()) answer.result = DigestOf(record.result());
  return answer;
}
Answer AnswerOf(const v1::BatchItem& item) {
  switch (item.answer_case()) {
    case v1::BatchItem::kReserve:
      return AnswerOf(item.reserve());
    case v1::BatchItem::kCommit:
      return AnswerOf(item.commit());
    case v1::BatchItem::kRelease:
      return AnswerOf(item.release());
    case v1::BatchItem::kExtend:
      return AnswerOf(item.extend());
    case v1::BatchItem::kInspect:
      return AnswerOf(item.inspect());
    default:
      return AnswerOf(client::ToAbslStatus(
          grpc::Status(static_cast<grpc::StatusCode>(item.error().code()), item.error().message(),
                       item.error().SerializeAsString())));
  }
}
Answer AnswerOf(const absl::Status& error) { return AnswerOf(client::DetailsOf(error)); }

}  // namespace onced::fault
