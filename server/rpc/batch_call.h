// One Batch RPC in flight.
#pragma once

#include <grpcpp/grpcpp.h>

#include "idempotency/v1/idempotency.pb.h"
#include "server/rpc/batch_run.h"
#include "server/rpc/calls_in_flight.h"
#include "server/rpc/validate.h"
#include "server/shard/shard_set.h"

namespace onced {

// Operation: checks every operation, submits the good ones together, and
//            replies when the last one is answered.
// Threads:   Start() and Failed() on gRPC's, one of them; the rest on any.
// Lifetime:  its own: gRPC tells it when nobody needs it any more.
class BatchCall final : public grpc::ServerUnaryReactor {
 public:
  BatchCall(ShardSet& shards, Telemetry& telemetry, CallsInFlight& in_flight,
            grpc::ByteBuffer& response)
      : in_flight_(in_flight), run_(Method::kBatch, shards, telemetry), response_(response) {}

  void Start(const idempotency::v1::BatchRequest& batch, const Validator& validator,
             absl::Time deadline);
  void Failed(const google::rpc::Status& error);

 private:
  void Reply();
  void OnDone() override { delete this; }

  const CallsInFlight::One in_flight_;
  BatchRun run_;
  grpc::ByteBuffer& response_;  // gRPC's: valid until Finish().
};

}  // namespace onced
