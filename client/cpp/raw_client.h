// The calls of the service, as functions of its messages. Client, in client.h, is what
// callers use.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cpp/call_options.h"
#include "client/cpp/connect_options.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced::client {

namespace v1 = ::idempotency::v1;

// What the client calls: a connection, or a test's mock.
using Stub = v1::IdempotencyService::StubInterface;

// Returns at once: the connection is made by the first call, and again whenever
// it was lost. `target` is a gRPC name: "host:port", "dns:///name:port",
// "unix:/path".
std::unique_ptr<Stub> NewStub(const std::string& target, const ConnectOptions& options = {});

// A thin client: one method a call, each a single attempt that blocks.
//
// Threads:  any method from any thread, many at once.
// Lifetime: movable; not while a call is running.
// Promise:  checks nothing that the server checks, adds nothing to a request.
//           An error carries the server's details: see DetailsOf().
class RawClient {
 public:
  explicit RawClient(std::unique_ptr<Stub> stub) : stub_(std::move(stub)) {}

  // As NewStub().
  static RawClient Connect(const std::string& target, const ConnectOptions& options = {});

  absl::StatusOr<v1::ReserveResponse> Reserve(const v1::ReserveRequest& request,
                                              const CallOptions& options = {});
  absl::StatusOr<v1::CommitResponse> Commit(const v1::CommitRequest& request,
                                            const CallOptions& options = {});
  absl::StatusOr<v1::ReleaseResponse> Release(const v1::ReleaseRequest& request,
                                              const CallOptions& options = {});
  absl::StatusOr<v1::ExtendResponse> Extend(const v1::ExtendRequest& request,
                                            const CallOptions& options = {});
  absl::StatusOr<v1::InspectResponse> Inspect(const v1::InspectRequest& request,
                                              const CallOptions& options = {});
  absl::StatusOr<v1::BatchResponse> Batch(const v1::BatchRequest& request,
                                          const CallOptions& options = {});

  // What Session::Open() takes.
  Stub& stub() { return *stub_; }

 private:
  std::unique_ptr<Stub> stub_;
};

}  // namespace onced::client
