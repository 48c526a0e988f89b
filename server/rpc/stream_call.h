// One RPC with streams both ways, from the wish for it to its end.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_stream.h>

#include <atomic>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "server/base/telemetry.h"
#include "server/rpc/call_queue.h"

namespace onced {

// What grpc::ServerBidiReactor is, on a CallQueue.
//
// Threads:  its Work is told on the queue's; StartRead(), StartWrite() and Finish()
//           on any.
// Lifetime: its own, until Finish() and all that was started are done.
class StreamCall final {
 public:
  using Stream = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

  // What is done for a call. Destroyed when nothing comes any more, on the queue's
  // thread.
  class Work {
   public:
    virtual ~Work() = default;
    virtual void OnReadDone(bool ok) = 0;
    virtual void OnWriteDone(bool ok) = 0;
    // The caller has gone, or gave up; Finish() is wanted all the same.
    virtual void OnCancel() = 0;
  };
  struct Method {
    // gRPC's function that asks for a call of this method.
    std::function<void(grpc::ServerContext*, Stream*, grpc::CompletionQueue*,
                       grpc::ServerCompletionQueue*, void*)>
        request;
    // Begins: may start something, or finish.
    std::function<std::unique_ptr<Work>(StreamCall&)> begin;
    // Counts the calls and their messages; nullptr: nobody does.
    RpcTelemetry* telemetry = nullptr;
  };

  // On the queue's thread. `method` outlives the server.
  static void Await(const Method& method, CallQueue& queue) { new StreamCall(method, queue); }

  const grpc::ServerContext& context() const { return context_; }
  // One at a time; `to` stays until OnReadDone().
  void StartRead(grpc::ByteBuffer* to) {
    ++open_;
    stream_.Read(to, read_.tag());
  }
  // One at a time.
  void StartWrite(const grpc::ByteBuffer& from) {
    ++open_;
    stream_.Write(from, written_.tag());
  }
  // Once; nothing is started after it.
  void Finish(const grpc::Status& status) {
    if (method_.telemetry != nullptr) method_.telemetry->Handled(started_, status.error_code());
    stream_.Finish(status, finished_.tag());
  }

 private:
  template <void (StreamCall::*kFunction)(bool)>
  using Tag = CallQueue::Tag<StreamCall, kFunction>;

  StreamCall(const Method& method, CallQueue& queue);
  ~StreamCall() { queue_.ExpectNoMore(); }
  void Came(bool ok);
  void Read(bool ok);
  void Written(bool ok);
  void Finished(bool ok);
  void Ended(bool ok);
  void OneLess();

  // Constant after construction.
  const Method& method_;
  CallQueue& queue_;
  Tag<&StreamCall::Came> came_{*this};
  Tag<&StreamCall::Read> read_{*this};
  Tag<&StreamCall::Written> written_{*this};
  Tag<&StreamCall::Finished> finished_{*this};
  Tag<&StreamCall::Ended> ended_{*this};
  absl::Duration started_;  // Constant once it came.

  // gRPC's, which locks.
  grpc::ServerContext context_;
  Stream stream_{&context_};

  // Events that are still to come: of Finish(), of the call's end, and of what was
  // started.
  std::atomic<int> open_{2};

  // The queue's thread only.
  std::unique_ptr<Work> work_;
};

}  // namespace onced
