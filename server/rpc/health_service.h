// grpc.health.v1: whether this server serves.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/base/mutex.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"

namespace onced {

namespace health_v1 = grpc::health::v1;

// On the wire a stream of answers to one request differs in nothing from a stream
// both ways. To say so here lets Watch be a StreamCall.
class RawHealth : public health_v1::Health::WithRawMethod_Check<health_v1::Health::Service> {
 protected:
  RawHealth() {
    MarkMethodStreamed(kWatch, nullptr);
    MarkMethodRaw(kWatch);
  }
  void RequestRawWatch(grpc::ServerContext* context, StreamCall::Stream* stream,
                       grpc::CompletionQueue* call_queue,
                       grpc::ServerCompletionQueue* notification_queue, void* tag) {
    RequestAsyncBidiStreaming(kWatch, context, stream, call_queue, notification_queue, tag);
  }

 private:
  static constexpr int kWatch = 1;  // The second method.
};

// Operation: knows the server as a whole, "", and one service by its name. Both serve
//            until StopServing().
// Threads:   calls on their queue's; the functions here on any.
// Lifetime:  outlives the server that serves it.
// Limits:    of a watch, one answer is on its way, and what changes meanwhile is told
//            by the next.
class HealthService final : public RawHealth {
 public:
  explicit HealthService(std::string service_name);

  // Serves the calls that come by this queue.
  void Accept(CallQueue& queue);
  // From now on it is NOT_SERVING.
  void StopServing() ABSL_LOCKS_EXCLUDED(mutex_);
  // Those who watch are told that the server ends, and so are those who come later.
  void EndWatches() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Status = health_v1::HealthCheckResponse::ServingStatus;
  class Watch;

  void ReplyTo(UnaryCall& call) const;
  // nullopt: nothing is known of that service.
  std::optional<Status> StatusOf(const std::string& name) const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return LockedStatusOf(name);
  }
  std::optional<Status> LockedStatusOf(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Tells it what is new, if anything is.
  void Proceed(Watch& watch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  const std::string service_name_;
  const UnaryCall::Method check_;
  const StreamCall::Method watch_;

  mutable Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = true;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<Watch*> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
