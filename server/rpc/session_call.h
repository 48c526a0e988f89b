// One Session RPC in flight.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/base/mutex.h"
#include "server/rpc/authenticator.h"
#include "server/rpc/batch_run.h"
#include "server/rpc/calls_in_flight.h"
#include "server/rpc/connection_waits.h"
#include "server/rpc/session_flow.h"
#include "server/rpc/sessions.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/validate.h"
#include "server/shard/shard_set.h"

namespace onced {

// Operation: reads a message, submits what is in it, and only then reads the next:
//            so operations on one key run in the order sent. Answers are written
//            one at a time, as they come. What is to be done next SessionFlow says.
// Threads:   any. gRPC is never called under the lock.
// Lifetime:  the call's, which ends after the last answer.
// Promise:   what was submitted is executed, whether or not its caller still listens;
//            but a Reserve that waits is given nothing once the caller has gone.
class SessionCall final : public StreamCall::Work {
 public:
  // What all sessions of a service have in common.
  struct Service {
    ShardSet& shards;
    const PolicyTable& policies;
    const Authenticator& authenticator;
    Telemetry& telemetry;
    Tracer* tracer;
    CallsInFlight& in_flight;
    ConnectionWaits& waits;
    Sessions<SessionCall>& sessions;
    ByteBudget& budget;
    Quotas& quotas;
  };

  SessionCall(const Service& service, StreamCall& call)
      : in_flight_(service.in_flight),
        service_(service),
        bytes_(service.budget),
        call_(call),
        deadline_(DeadlineOf(call.context(), service.shards.Now())),
        trace_context_(service.tracer != nullptr ? TraceContextOf(call.context()) : std::nullopt),
        share_(service.waits, call.context().peer()),
        caller_(service.authenticator.Identify(call.context())) {}
  ~SessionCall() override { service_.sessions.Remove(*this); }

  void Start();

  // ---- For Sessions ----
  [[nodiscard]] bool Hold() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return flow_.Enter();
  }
  // Reads no more, answers what is in flight, and ends with DRAINING.
  void End();

 private:
  // A message in execution.
  struct Message {
    Message(std::uint64_t request_id, const SessionLoad& request_load, const Service& service,
            CallTrace trace)
        : id(request_id),
          load(request_load),
          bytes(std::make_unique<ByteShare>(service.budget)),
          run(Method::kSession, service.shards, service.telemetry, std::move(trace)) {}

    const std::uint64_t id;  // The client's.
    const SessionLoad load;
    std::unique_ptr<ByteShare> bytes;
    BatchRun run;
    // Guarded by the session's lock.
    bool waits = false;
    std::vector<ShardSet::Ticket> tickets;
  };
  struct Unsent {
    SessionLoad load;  // Of the message that it answers.
    grpc::ByteBuffer bytes;
    std::unique_ptr<ByteShare> share;
    void Swap(Unsent& other) {  // A ByteBuffer is not moved, but copied.
      std::swap(load, other.load);
      std::swap(share, other.share);
      bytes.Swap(&other.bytes);
    }
  };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;

  // Of bytes that were read.
  void Take(const grpc::ByteBuffer& bytes);
  void Execute(const idempotency::v1::SessionRequest& request, const SessionLoad& load);
  // Remembers how to cancel it, or does so at once.
  void Waits(const Message* message, std::vector<ShardSet::Ticket> tickets);
  void Answered(Message& message);
  void Send(Message& message, idempotency::v1::SessionResponse response);
  // The whole message is refused.
  void Refuse(Message& message, const google::rpc::Status& error);
  // Ends the session so, and counts one message that failed.
  void Fail(const google::rpc::Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads no more; ends so, if nothing else ended it before.
  void Stop(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The client has gone. Whose waits are to be cancelled.
  std::vector<ShardSet::Ticket> Abandon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cancel(const std::vector<ShardSet::Ticket>& tickets);
  // Takes steps until there is none; the caller is inside, and then no more.
  void Proceed() ABSL_LOCKS_EXCLUDED(mutex_);

  // Constant after construction.
  const CallsInFlight::One in_flight_;  // First: the last to go.
  const Service service_;
  ByteShare bytes_;  // Its own, beside its messages'.
  StreamCall& call_;
  const absl::Time deadline_;
  const std::optional<TraceContext> trace_context_;  // Of all its messages.
  ConnectionShare share_;                            // Locks itself.

  // The read's, of which there is one at a time; before the first, Start()'s.
  std::variant<Caller, google::rpc::Status> caller_;
  grpc::ByteBuffer request_;

  // Shared.
  Mutex mutex_;
  SessionFlow flow_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const Message*, std::unique_ptr<Message>> executing_ ABSL_GUARDED_BY(mutex_);
  std::deque<Unsent> unsent_ ABSL_GUARDED_BY(mutex_);  // The first is being written.
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);        // To end with.
};

}  // namespace onced
