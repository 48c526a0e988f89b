#include "server/rpc/batch_call.h"

#include <algorithm>

#include "server/rpc/errors.h"
#include "server/rpc/wire.h"

namespace onced {
namespace {

using Operations = BatchRun::Operations;

bool AreAllNewWork(const Operations& operations) {
  return std::all_of(operations.begin(), operations.end(), [](const auto& operation) {
    return operation.has_reserve() || operation.has_inspect();
  });
}

}  // namespace

void BatchCall::Start(const idempotency::v1::BatchRequest& batch, const Validator& validator,
                      absl::Time deadline, Quotas& quotas) {
  if (const auto error = BatchRun::CheckSize(batch.operations())) return Failed(*error);
  const auto count = static_cast<std::size_t>(batch.operations_size());
  if (!bytes_.TryTake(count * ByteBudget::kOperationBytes, BatchRun::UseOf(batch.operations()))) {
    return Failed(ErrorOf(Refused{Refusal::kMemoryFull}));
  }
  if (IsInVain(batch.operations(), validator)) {
    return Failed(ErrorOf(Refused{Refusal::kQueueFull}));
  }
  run_.Check(batch.operations(), validator, deadline, quotas, {});
  run_.Submit([this] { Reply(); });  // No tickets: none of them waits.
}

bool BatchCall::IsInVain(const Operations& operations, const Validator& validator) const {
  if (!AreAllNewWork(operations)) return false;
  // Who may not use the namespace, or says nonsense, isn't told that it is busy.
  const Checked first = validator.Check(operations[0], 0, Validator::Waiting::kRefused);
  const auto* request = std::get_if<Request>(&first);
  return request != nullptr && shards_.Crowded(request->key.name_space);
}

void BatchCall::Failed(const google::rpc::Status& error) {
  run_.Refused(error);
  call_.Reply(ToGrpc(error));
}

void BatchCall::Reply() {
  run_.Count();
  call_.Reply(Serialize(run_.Response(limits::kMessageBytesMax, bytes_)));
}

}  // namespace onced
