// One unary RPC, from the wish for it to its end.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_unary_call.h>

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "server/base/telemetry.h"
#include "server/rpc/call_queue.h"

namespace onced {

// Operation: asks for a call; when one comes, asks for the next by another object,
//            and begins the work on it; sends the answer; ends.
// Threads:   the queue's; Reply() on any, once.
// Lifetime:  its own.
class UnaryCall final {
 public:
  // What is done for a call. Lives until the call has ended, at the least until
  // Reply().
  class Work {
   public:
    virtual ~Work() = default;
    // The caller has gone, or gave up. On the queue's thread, once, if at all.
    virtual void OnCancel() {}
  };
  struct Method {
    // gRPC's function that asks for a call of this method.
    std::function<void(grpc::ServerContext*, grpc::ByteBuffer*,
                       grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>*, grpc::CompletionQueue*,
                       grpc::ServerCompletionQueue*, void*)>
        request;
    // Looks at the call and begins; may reply before it returns, and return nothing
    // then, unless it is to be told.
    std::function<std::unique_ptr<Work>(UnaryCall&)> begin;
    // Whether OnCancel() is wanted: being told costs.
    bool cancels = false;
    // Counts the calls; nullptr: nobody does.
    RpcTelemetry* telemetry = nullptr;
    // While it says so, `crowded_max` calls are taken in a millisecond, and the others are
    // left where they are: their callers send no more meanwhile, whereas a refusal at once
    // would cost nearly as much as an answer, and have them send the next one. Not if they
    // have little time left: then they are refused as fast as can be.
    std::function<bool()> crowded;
    int crowded_max = 1;
  };

  // On the queue's thread. `method` outlives the server.
  static void Await(const Method& method, CallQueue& queue) { new UnaryCall(method, queue, 0); }

  const grpc::ServerContext& context() const { return context_; }
  const grpc::ByteBuffer& request() const { return request_; }
  void Reply(const grpc::ByteBuffer& response) {
    CountHandled(grpc::StatusCode::OK);
    writer_.Finish(response, grpc::Status::OK, replied_.tag());
  }
  void Reply(const grpc::Status& error) {
    CountHandled(error.error_code());
    writer_.FinishWithError(error, replied_.tag());
  }

 private:
  template <void (UnaryCall::*kFunction)(bool)>
  using Tag = CallQueue::Tag<UnaryCall, kFunction>;

  class Pause;

  UnaryCall(const Method& method, CallQueue& queue, int crowded);
  ~UnaryCall() { queue_.ExpectNoMore(); }
  void Came(bool ok);
  // Asks for the next call, or will.
  void AwaitNext() const;
  // Those behind it, which came later, have more.
  bool HasTimeToWait() const;
  void Ended(bool ok);
  void Replied(bool ok);
  void OneLess();
  void CountHandled(grpc::StatusCode code) {
    if (method_.telemetry != nullptr) method_.telemetry->Handled(started_, code);
  }

  const Method& method_;
  CallQueue& queue_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
  Tag<&UnaryCall::Came> came_{*this};
  Tag<&UnaryCall::Ended> ended_{*this};
  Tag<&UnaryCall::Replied> replied_{*this};

  absl::Duration started_;  // Constant once it came.

  // The queue's thread only.
  std::unique_ptr<Work> work_;
  int open_ = 0;           // Events that are still to come.
  const int crowded_ = 0;  // How many were taken before it since it has become crowded.
};

}  // namespace onced
