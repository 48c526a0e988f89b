// One Batch RPC in flight.
#pragma once

#include <utility>

#include "idempotency/v1/idempotency.pb.h"
#include "server/rpc/batch_run.h"
#include "server/rpc/calls_in_flight.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/validate.h"
#include "server/shard/shard_set.h"

namespace onced {

// Operation: checks every operation, submits the good ones together, and
//            replies when the last one is answered.
// Threads:   Start() and Failed() on the call queue's, one of them; the rest on any.
// Lifetime:  the call's, which is replied to at the end of either.
class BatchCall final : public UnaryCall::Work {
 public:
  BatchCall(ShardSet& shards, Telemetry& telemetry, CallsInFlight& in_flight, ByteBudget& budget,
            UnaryCall& call, CallTrace trace)
      : shards_(shards),
        in_flight_(in_flight),
        bytes_(budget),
        run_(Method::kBatch, shards, telemetry, std::move(trace)),
        call_(call) {}

  // Whether there is memory for the request; what is in it isn't known yet.
  bool TryTakeRoom() {
    return bytes_.TryTake(ByteBudget::kCallBytes + call_.request().Length(), BytesFor::kSettling);
  }
  void Start(const idempotency::v1::BatchRequest& batch, const Validator& validator,
             absl::Time deadline, Quotas& quotas);
  void Failed(const google::rpc::Status& error);

 private:
  // There is no room for the first of the operations, nor is any of them one that has room of
  // its own. To answer them one by one costs a third of executing them, which under
  // overload is what the server would do instead.
  bool IsInVain(const BatchRun::Operations& operations, const Validator& validator) const;
  void Reply();

  const ShardSet& shards_;
  const CallsInFlight::One in_flight_;
  ByteShare bytes_;
  BatchRun run_;
  UnaryCall& call_;
};

}  // namespace onced
