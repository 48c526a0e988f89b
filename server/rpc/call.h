// One RPC in flight.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "google/rpc/status.pb.h"
#include "server/base/telemetry.h"
#include "server/ledger/operation.h"
#include "server/rpc/byte_budget.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/calls_in_flight.h"
#include "server/rpc/connection_waits.h"
#include "server/rpc/errors.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/wire.h"
#include "server/shard/shard_set.h"

namespace onced {

// Counts one call or one message of a session, and the operations in it, at its end.
class CallMeter {
 public:
  CallMeter(Method method, const ShardSet& shards, Telemetry& telemetry)
      : method_(method), shards_(shards), telemetry_(telemetry), started_(shards.Now()) {}

  void Ended(CallStatus status, absl::Duration waited) const;
  void Failed(const google::rpc::Status& error, absl::Duration waited) const;
  absl::Duration Elapsed() const { return shards_.Now() - started_; }
  // Of several operations, one that took part of the time, and that waited.
  void EndedAs(Method operation, CallStatus status, absl::Duration latency,
               absl::Duration waited) const {
    telemetry_.CallEnded(operation, status, latency, waited);
  }

 private:
  const Method method_;
  const ShardSet& shards_;
  Telemetry& telemetry_;
  const absl::Time started_;
};

// The caller's deadline by the server's clock; InfiniteFuture if there is none.
absl::Time DeadlineOf(const grpc::ServerContextBase& context, absl::Time now);

// Threads:  the call queue's; Answered() and Failed() on any, one of them, once.
// Lifetime: the call's, which is replied to at the end of either.
class SingleCall final : public UnaryCall::Work {
 public:
  SingleCall(Method method, ShardSet& shards, Telemetry& telemetry, CallsInFlight& in_flight,
             ByteBudget& budget, UnaryCall& call, CallTrace trace)
      : in_flight_(in_flight),
        shards_(shards),
        meter_(method, shards, telemetry),
        use_(method == Method::kReserve || method == Method::kInspect ? BytesFor::kNewWork
                                                                      : BytesFor::kSettling),
        bytes_(budget),
        call_(call),
        trace_(std::move(trace)) {}

  // Whether there is memory for the request.
  bool TryTakeRoom() {
    return bytes_.TryTake(ByteBudget::kCallBytes + call_.request().Length(), use_);
  }

  // Whether the call may wait, at the expense of its connection's share.
  bool TryWait(ConnectionWaits& waits) {
    share_.emplace(waits, call_.context().peer());
    if (!share_->TryAdd()) share_.reset();
    return share_.has_value();
  }
  // If the call is traced, what it does names it.
  void Traces(Request& request) {
    trace_.SetNamespace(request);
    trace_.Mark(request.operation);
  }
  // Whose memory a large answer takes.
  void AnswersTo(const Request& request) { name_space_ = request.key.name_space; }
  // From now on the shard is told if the caller goes away.
  void CancelsAs(ShardSet::Ticket ticket) { ticket_ = ticket; }

  void Failed(const google::rpc::Status& error) { Fail(error, nullptr); }
  // `encode` makes the response of any answer that is not a refusal.
  template <typename Encode>
  void Answered(const Answer& answer, const Encode& encode) {
    if (const auto* refused = std::get_if<Refused>(&answer.reply)) {
      return Fail(ErrorOf(*refused), &answer);
    }
    const grpc::ByteBuffer response = Serialize(encode(answer));
    if (!TakeRoomFor(response, answer.reply)) {
      return Fail(ErrorOf(Refused{Refusal::kMemoryFull}), &answer);
    }
    Succeed(response, answer);
  }

 private:
  // Whether it may be sent, and stay in memory until its reader has taken it.
  bool TakeRoomFor(const grpc::ByteBuffer& response, const Reply& reply);
  // `answer` is nullptr if it was not executed.
  void Fail(const google::rpc::Status& error, const Answer* answer);
  void Succeed(const grpc::ByteBuffer& response, const Answer& answer);
  void StopWaiting() {
    if (share_.has_value()) share_->Remove();
  }
  void OnCancel() override {
    if (ticket_.has_value()) shards_.Cancel(*ticket_);
  }

  const CallsInFlight::One in_flight_;
  ShardSet& shards_;
  const CallMeter meter_;
  const BytesFor use_;
  ByteShare bytes_;
  UnaryCall& call_;
  std::string name_space_;
  CallTrace trace_;
  std::optional<ShardSet::Ticket> ticket_;
  std::optional<ConnectionShare> share_;  // While it may wait.
};

}  // namespace onced
