// Batches over one stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "client/cpp/raw_client.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced::client {

// A thin session: each message that is sent is answered by one with its id, in the
// order in which they are done. A Reserve that waits is best sent by itself.
//
// Threads:  Send() and WritesDone() on one, Read() on one, which may be another;
//           Cancel() on any; the rest once no other function runs.
// Lifetime: movable; not while a function is running. The destructor cancels what
//           has not ended.
// Promise:  as RawClient's. It does not open itself anew: once it has failed, what was
//           not answered may or may not have been executed, and is to be sent again
//           over a new session, with the same request_ids and tokens.
// Limits:   the server reads no further while too much is unanswered; then Send()
//           blocks, and goes on blocking if nobody calls Read().
class Session {
 public:
  // Returns at once. `options.deadline` is that of all operations on it.
  static Session Open(Stub& stub, const CallOptions& options = {});
  Session(Session&&) = default;
  Session& operator=(Session&&) = delete;
  ~Session();

  // False if the session has failed: Finish() says why.
  bool Send(std::uint64_t id, std::vector<v1::Operation> operations);
  bool Send(const v1::SessionRequest& request);
  // The next answer; blocks. nullopt: there is none any more, Finish() says why.
  std::optional<v1::SessionResponse> Read();
  // Nothing more is sent. What was sent is still answered.
  void WritesDone();
  // Ends the session, and blocks until the server has: answers not yet read are lost.
  // OK if all that was sent was answered. To be called once.
  absl::Status Finish();
  // Gives it up: Send() and Read() soon return. A Reserve that waits is given nothing
  // any more; what else was sent may be executed.
  void Cancel() { context_->TryCancel(); }

 private:
  using Stream = grpc::ClientReaderWriterInterface<v1::SessionRequest, v1::SessionResponse>;

  Session(std::unique_ptr<grpc::ClientContext> context, std::unique_ptr<Stream> stream)
      : context_(std::move(context)), stream_(std::move(stream)) {}

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;  // nullptr once it has ended.
  bool writes_done_ = false;
};

}  // namespace onced::client
