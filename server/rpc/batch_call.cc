#include "server/rpc/batch_call.h"

#include "server/rpc/errors.h"
#include "server/rpc/wire.h"

namespace onced {

void BatchCall::Start(const idempotency::v1::BatchRequest& batch, const Validator& validator,
                      absl::Time deadline) {
  if (const auto error = BatchRun::CheckSize(batch.operations())) return Failed(*error);
  run_.Check(batch.operations(), validator, deadline, {});
  run_.Submit([this] { Reply(); });  // No tickets: none of them waits.
}

void BatchCall::Failed(const google::rpc::Status& error) {
  run_.Refused(error);
  Finish(ToGrpc(error));
}

void BatchCall::Reply() {
  run_.Count();
  response_ = Serialize(run_.Response(limits::kMessageBytesMax));
  Finish(grpc::Status::OK);
}

}  // namespace onced
