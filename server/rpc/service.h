// The API over gRPC: takes messages off the wire, has them checked and
// executed, and sends the answers. It decides nothing.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "idempotency/v1/idempotency.grpc.pb.h"
#include "server/base/telemetry.h"
#include "server/base/tracer.h"
#include "server/ledger/policy.h"
#include "server/rpc/authenticator.h"
#include "server/rpc/byte_budget.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/calls_in_flight.h"
#include "server/rpc/connection_waits.h"
#include "server/rpc/quotas.h"
#include "server/rpc/session_call.h"
#include "server/rpc/sessions.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/validate.h"
#include "server/shard/shard_set.h"

namespace onced {

// Streams that a connection may have open at once.
inline constexpr int kStreamsMax = 256;

// Calls come by CallQueues. The methods take bytes, so that a message that can't be parsed is
// answered like any other bad request.
using RawService = idempotency::v1::IdempotencyService::WithRawMethod_Reserve<
    idempotency::v1::IdempotencyService::WithRawMethod_Commit<
        idempotency::v1::IdempotencyService::WithRawMethod_Release<
            idempotency::v1::IdempotencyService::WithRawMethod_Extend<
                idempotency::v1::IdempotencyService::WithRawMethod_Inspect<
                    idempotency::v1::IdempotencyService::WithRawMethod_Batch<
                        idempotency::v1::IdempotencyService::WithRawMethod_Session<
                            idempotency::v1::IdempotencyService::Service>>>>>>>;

// Threads:  a call queue's until a request is submitted; the answer comes
//           on the shard's thread or the store's. No method blocks.
// Lifetime: all that the constructor takes outlives it; it outlives the server
//           that serves it.
// Promise:  a request that was submitted is executed whether or not its caller
//           still listens; but a Reserve whose caller has gone gets no grant.
class IdempotencyService final : public RawService {
 public:
  IdempotencyService(ShardSet& shards, const PolicyTable& policies,
                     const Authenticator& authenticator, Telemetry& telemetry,
                     Tracer* tracer = nullptr,  // nullptr: nothing is traced.
                     std::size_t call_bytes_max = std::size_t{256} << 20);

  // Serves the calls that come by this queue.
  void Accept(CallQueue& queue);
  std::size_t sessions() const { return sessions_.count(); }
  // Open sessions read no more, and end once all that they read is answered; no new
  // ones are opened. Returns at once.
  void EndSessions() { sessions_.EndAll(); }
  // Memory that calls take.
  std::size_t call_bytes() const { return budget_.used(); }
  // From now on calls that come are refused, whatever they are.
  void RefuseCalls() { refusing_ = true; }
  // Returns once no call is in flight, or after `patience`.
  void AwaitIdle(absl::Duration patience) { in_flight_.AwaitNone(patience); }

 private:
  // Of all five single calls: identify, parse, check, submit; `encoder_for` makes, from
  // the parsed message, what turns an Answer into a response.
  template <typename Message, typename EncoderFor>
  std::unique_ptr<UnaryCall::Work> Single(Method method, UnaryCall& call, EncoderFor encoder_for);
  // Strangers' calls are not traced: else they could fill the collector's queue.
  Tracer* TracerFor(const std::variant<Caller, google::rpc::Status>& caller) const {
    return std::holds_alternative<Caller>(caller) ? tracer_ : nullptr;
  }
  std::unique_ptr<UnaryCall::Work> BeginBatch(UnaryCall& call);
  RpcTelemetry* Counter(Method method);
  std::unique_ptr<UnaryCall::Work> RefuseDraining(Method method, UnaryCall& call) const;
  std::vector<UnaryCall::Method> MakeMethods();
  StreamCall::Method MakeSessionMethod();

  // Constant after construction.
  ShardSet& shards_;
  const PolicyTable& policies_;
  const Authenticator& authenticator_;
  Telemetry& telemetry_;
  Tracer* const tracer_;
  const std::vector<UnaryCall::Method> methods_;
  const StreamCall::Method session_method_;

  // Shared; they lock themselves.
  ByteBudget budget_;
  Quotas quotas_;
  std::atomic<bool> refusing_{false};
  ConnectionWaits waits_{kStreamsMax / 2};
  CallsInFlight in_flight_;
  Sessions<SessionCall> sessions_;
};

}  // namespace onced
