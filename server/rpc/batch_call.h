// One Batch RPC in flight.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "idempotency/v1/idempotency.pb.h"
#include "server/rpc/batch.h"
#include "server/rpc/call.h"
#include "server/rpc/validate.h"
#include "server/shard/shard_set.h"

namespace onced {

// Operation: checks every operation, submits the good ones together, and
//            replies when the last one is answered.
// Threads:   Start() on gRPC's; answers on several shards' threads at once, each
//            to its own outcome.
// Lifetime:  its own: gRPC tells it when nobody needs it any more.
class BatchCall final : public grpc::ServerUnaryReactor {
 public:
  BatchCall(ShardSet& shards, Telemetry& telemetry, CallsInFlight& in_flight,
            grpc::ByteBuffer& response)
      : in_flight_(in_flight),
        shards_(shards),
        telemetry_(telemetry),
        meter_(Method::kBatch, shards, telemetry),
        response_(response) {}

  void Start(const idempotency::v1::BatchRequest& batch, const Validator& validator,
             absl::Time deadline);
  void Failed(const google::rpc::Status& error);

 private:
  void Answered(std::size_t index, Answer answer);
  void Count(const BatchOutcome& outcome) const;
  // The last one to call it replies.
  void OneLess();
  void OnDone() override { delete this; }
  // See SingleCall.
  bool InternalInlineable() override { return true; }

  const CallsInFlight::One in_flight_;
  ShardSet& shards_;
  Telemetry& telemetry_;
  const CallMeter meter_;
  grpc::ByteBuffer& response_;  // gRPC's: valid until Finish().
  std::vector<BatchOutcome> outcomes_;
  // Operations not yet answered, and one more for Start() itself.
  std::atomic<std::size_t> open_{1};
};

}  // namespace onced
