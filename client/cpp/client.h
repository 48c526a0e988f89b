// The calls of the service, as functions.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/security/credentials.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced::client {

namespace v1 = ::idempotency::v1;

// What the client calls: a connection, or a test's mock.
using Stub = v1::IdempotencyService::StubInterface;

struct ConnectOptions {
  // Null: neither encrypted nor authenticated. See TlsCredentials() in security.h.
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  // Holds a bearer token, which goes with each call; read again when it is replaced.
  // Without `credentials` the calls go to this machine's loopback addresses alone, and fail
  // for others: a token is never sent in the clear. With insecure `credentials` every call
  // fails. Empty: none.
  std::string auth_token_file;
  // Put before gRPC's own user agent.
  std::string user_agent;
  // Whether to go through the proxy that the environment names for the web
  // (`http_proxy`), as gRPC does by default, for loopback addresses too.
  bool use_http_proxy = false;
};

// Returns at once: the connection is made by the first call, and again whenever
// it was lost. `target` is a gRPC name: "host:port", "dns:///name:port",
// "unix:/path".
std::unique_ptr<Stub> NewStub(const std::string& target, const ConnectOptions& options = {});

struct CallOptions {
  // Past it, the call fails as DEADLINE_EXCEEDED, which says nothing about
  // whether it was executed. A Reserve that waits needs more than its
  // `wait_timeout`: the server ends the wait shortly before the deadline.
  absl::Time deadline = absl::InfiniteFuture();
  // The caller's W3C trace context, to be sent with the call; empty: none. What can't be
  // a header's value is left out.
  std::string traceparent;
  std::string tracestate;
};

// A thin client: one method a call, each a single attempt that blocks.
//
// Threads:  any method from any thread, many at once.
// Lifetime: movable; not while a call is running.
// Promise:  checks nothing that the server checks, adds nothing to a request.
//           An error carries the server's details: see DetailsOf().
class Client {
 public:
  explicit Client(std::unique_ptr<Stub> stub) : stub_(std::move(stub)) {}

  // As NewStub().
  static Client Connect(const std::string& target, const ConnectOptions& options = {});

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
