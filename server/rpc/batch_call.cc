#include "server/rpc/batch_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/errors.h"
#include "server/rpc/translate.h"
#include "server/rpc/wire.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

// No default: a new operation does not compile until it is counted.
Method MethodOf(v1::Operation::OperationCase kind) {
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
      return Method::kBatch;
  }
  __builtin_unreachable();
}

std::vector<Violation> CheckSize(const v1::BatchRequest& batch) {
  const auto size = static_cast<std::size_t>(batch.operations_size());
  if (size >= 1 && size <= limits::kBatchOperationsMax) return {};
  return {{"operations",
           absl::StrCat("must have 1 to ", limits::kBatchOperationsMax, " items, has ", size)}};
}

}  // namespace

void BatchCall::Start(const v1::BatchRequest& batch, const Validator& validator,
                      absl::Time deadline) {
  if (const auto violations = CheckSize(batch); !violations.empty())
    return Failed(ErrorOf(violations));
  outcomes_.resize(static_cast<std::size_t>(batch.operations_size()));
  std::vector<Request> requests;
  for (int i = 0; i < batch.operations_size(); ++i) {
    const v1::Operation& operation = batch.operations(i);
    const auto index = static_cast<std::size_t>(i);
    outcomes_[index].kind = operation.operation_case();
    outcomes_[index].include_result = operation.inspect().include_result();
    Checked checked = validator.Check(operation, i);
    if (auto* error = std::get_if<google::rpc::Status>(&checked)) {
      outcomes_[index].answer = std::move(*error);
      continue;
    }
    Request request = std::get<Request>(std::move(checked));
    request.deadline = deadline;
    request.answer = [this, index](Answer answer) { Answered(index, std::move(answer)); };
    requests.push_back(std::move(request));
  }
  open_.fetch_add(requests.size());
  shards_.Submit(std::move(requests));
  OneLess();
}

void BatchCall::Failed(const google::rpc::Status& error) {
  meter_.Failed(error, absl::ZeroDuration());
  Finish(ToGrpc(error));
}

void BatchCall::Answered(std::size_t index, Answer answer) {
  outcomes_[index].answer = std::move(answer);
  OneLess();
}

void BatchCall::OneLess() {
  if (open_.fetch_sub(1) != 1) return;
  for (const BatchOutcome& outcome : outcomes_) Count(outcome);
  response_ = Serialize(BatchResponseOf(outcomes_));
  meter_.Ended(CallStatus::kOk, absl::ZeroDuration());
  Finish(grpc::Status::OK);
}

void BatchCall::Count(const BatchOutcome& outcome) const {
  const Method method = MethodOf(outcome.kind);
  const auto failed = [&](const google::rpc::Status& error) {
    telemetry_.CallRefused(method, ReasonOf(error));
    meter_.EndedAs(method, CallStatus::kError);
  };
  if (const auto* error = std::get_if<google::rpc::Status>(&outcome.answer)) return failed(*error);
  const Reply& reply = std::get<Answer>(outcome.answer).reply;
  if (const auto* refused = std::get_if<Refused>(&reply)) return failed(ErrorOf(*refused));
  meter_.EndedAs(method, CallStatusOf(reply));
}

}  // namespace onced
