#include "server/rpc/batch_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/errors.h"
#include "server/rpc/translate.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

// What an operation is counted as; no default: a new one does not compile until it
// is. One that is none counts as what it came in.
Method MethodOf(v1::Operation::OperationCase kind, Method within) {
  switch (kind) {
    case v1::Operation::kReserve:
      return Method::kReserve;
    case v1::Operation::kCommit:
      return Method::kCommit;
    case v1::Operation::kRelease:
      return Method::kRelease;
    case v1::Operation::kExtend:
      return Method::kExtend;
    case v1::Operation::kInspect:
      return Method::kInspect;
    case v1::Operation::OPERATION_NOT_SET:
      return within;
  }
  __builtin_unreachable();
}

absl::Duration WaitOf(const BatchOutcome& outcome) {
  const auto* answer = std::get_if<Answer>(&outcome.answer);
  return answer == nullptr ? absl::ZeroDuration() : answer->waited;
}

}  // namespace

std::optional<google::rpc::Status> BatchRun::CheckSize(const Operations& operations) {
  const auto size = static_cast<std::size_t>(operations.size());
  if (size >= 1 && size <= limits::kBatchOperationsMax) return std::nullopt;
  return ErrorOf(Violation{
      "operations",
      absl::StrCat("must have 1 to ", limits::kBatchOperationsMax, " items, has ", size)});
}

BytesFor BatchRun::UseOf(const Operations& operations) {
  const bool all = std::all_of(operations.begin(), operations.end(), [](const auto& operation) {
    return operation.has_commit() || operation.has_extend() || operation.has_release();
  });
  return all ? BytesFor::kSettling : BytesFor::kNewWork;
}

void BatchRun::Check(const Operations& operations, const Validator& validator, absl::Time deadline,
                     Quotas& quotas, const Waiting& waiting) {
  share_ = waiting.share;
  const auto waits =
      share_ == nullptr ? Validator::Waiting::kRefused : Validator::Waiting::kAllowed;
  outcomes_.resize(static_cast<std::size_t>(operations.size()));
  requests_.reserve(outcomes_.size());
  const absl::Time now = shards_.Now();
  for (int i = 0; i < operations.size(); ++i) {
    const v1::Operation& operation = operations[i];
    BatchOutcome& outcome = outcomes_[static_cast<std::size_t>(i)];
    outcome.kind = operation.operation_case();
    outcome.include_result = operation.inspect().include_result();
    Checked checked = validator.Check(operation, i, waits);
    if (auto* error = std::get_if<google::rpc::Status>(&checked)) {
      outcome.answer = std::move(*error);
      continue;
    }
    Request request = std::get<Request>(std::move(checked));
    if (IsReserve(request)) {
      if (auto refused = TakeQuota(quotas, now, request)) {
        outcome.answer = *std::move(refused);
        continue;
      }
    }
    if (requests_.empty()) name_space_ = request.key.name_space;
    request.deadline = deadline;
    trace_.Mark(request.operation);
    const bool claims = ClaimsWait(request, waiting);
    // Small enough to need no allocation: there are many.
    request.answer = [this, index = static_cast<std::uint32_t>(i), claims](Answer answer) {
      Answered(index, claims, std::move(answer));
    };
    requests_.push_back(std::move(request));
  }
}

bool BatchRun::ClaimsWait(Request& request, const Waiting& waiting) {
  if (!MayWait(request)) return false;
  if (waiting.may_park && share_->TryAdd()) return may_wait_ = true;
  std::get<ReserveOp>(request.operation).wait_timeout = absl::ZeroDuration();
  return false;
}

std::vector<ShardSet::Ticket> BatchRun::Submit(absl::AnyInvocable<void()> done) {
  done_ = std::move(done);
  open_.fetch_add(requests_.size());
  std::vector<ShardSet::Ticket> tickets = shards_.Submit(std::move(requests_));
  OneLess();
  return tickets;
}

void BatchRun::Answered(std::uint32_t index, bool waited, Answer answer) {
  if (waited) share_->Remove();
  BatchOutcome& outcome = outcomes_[index];
  outcome.answer = std::move(answer);
  if (may_wait_) KeepWithinReply(outcome);
  OneLess();
}

void BatchRun::KeepWithinReply(BatchOutcome& outcome) {
  if (std::holds_alternative<Fresh>(std::get<Answer>(outcome.answer).reply)) return;
  const std::size_t bytes = LargePartBytes(outcome);
  if (kept_bytes_.fetch_add(bytes) + bytes <= limits::kMessageBytesMax) return;
  std::get<Answer>(outcome.answer).reply = onced::Refused{Refusal::kReplyTooLarge};
}

void BatchRun::OneLess() {
  if (open_.fetch_sub(1) != 1) return;
  auto done = std::move(done_);  // Which may destroy this.
  done();
}

v1::BatchResponse BatchRun::Response(std::size_t large_bytes_max, ByteShare& room) const {
  std::size_t wanted = 0;
  for (const BatchOutcome& outcome : outcomes_) wanted += LargePartBytes(outcome);
  wanted = std::min(wanted, large_bytes_max);
  room.Set(ByteBudget::kCallBytes);  // The request has gone.
  const std::size_t granted = room.TakeUpTo(wanted, BytesFor::kNewWork, name_space_);
  const bool all = granted == wanted;
  v1::BatchResponse response =
      BatchResponseOf(outcomes_, all ? large_bytes_max : std::max(granted, ByteBudget::kSmallBytes),
                      all ? Refusal::kReplyTooLarge : Refusal::kMemoryFull);
  room.Set(ByteBudget::kCallBytes + response.ByteSizeLong());
  return response;
}

void BatchRun::Count() {
  absl::Duration longest_wait;
  for (const BatchOutcome& outcome : outcomes_) {
    longest_wait = std::max(longest_wait, WaitOf(outcome));
  }
  const absl::Duration latency = meter_.Elapsed() - longest_wait;
  for (const BatchOutcome& outcome : outcomes_) Count(outcome, latency);
  meter_.EndedAs(method_, CallStatus::kOk, latency, absl::ZeroDuration());
  if (trace_) trace_.End(shards_.Now());
}

void BatchRun::Count(const BatchOutcome& outcome, absl::Duration latency) {
  const Method method = MethodOf(outcome.kind, method_);
  const auto failed = [&](const google::rpc::Status& error) {
    telemetry_.CallRefused(method, ReasonOf(error));
    meter_.EndedAs(method, CallStatus::kError, latency, WaitOf(outcome));
    trace_.Count(CallStatus::kError, nullptr);
  };
  if (const auto* error = std::get_if<google::rpc::Status>(&outcome.answer)) return failed(*error);
  const Reply& reply = std::get<Answer>(outcome.answer).reply;
  if (const auto* refused = std::get_if<onced::Refused>(&reply)) return failed(ErrorOf(*refused));
  meter_.EndedAs(method, CallStatusOf(reply), latency, WaitOf(outcome));
  trace_.Count(CallStatusOf(reply), &reply);
}

}  // namespace onced
