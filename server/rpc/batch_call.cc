#include "server/rpc/batch_call.h"

#include "server/rpc/errors.h"
#include "server/rpc/wire.h"

namespace onced {

void BatchCall::Start(const idempotency::v1::BatchRequest& batch, const Validator& validator,
                      absl::Time deadline, Quotas& quotas) {
  if (const auto error = BatchRun::CheckSize(batch.operations())) return Failed(*error);
  const auto count = static_cast<std::size_t>(batch.operations_size());
  if (!bytes_.TryTake(count * ByteBudget::kOperationBytes, BatchRun::UseOf(batch.operations()))) {
    return Failed(ErrorOf(Refused{Refusal::kMemoryFull}));
  }
  run_.Check(batch.operations(), validator, deadline, quotas, {});
  run_.Submit([this] { Reply(); });  // No tickets: none of them waits.
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
