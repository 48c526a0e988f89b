// The gRPC port.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/heartbeat.h"
#include "server/rpc/acceptor.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/health_service.h"
#include "server/rpc/reflection_service.h"

namespace onced {

// Operation: serves one service, with health (grpc.health.v1) and reflection
//            beside it, within limits that keep one client from harming others.
// Threads:   calls on the queues'; gRPC has none of its own that would wait for
//            calls. The functions here from one thread.
// Lifetime:  `service` outlives it.
// Promise:   once Shutdown() has returned, no call is in flight.
class GrpcServer {
 public:
  struct Options {
    const char* setting = "";  // That names the address, for the error.
    std::string address;       // host:port; port 0 takes any free one.
    // Shared: see credentials_. nullptr: neither encrypted nor authenticated.
    std::shared_ptr<grpc::ServerCredentials> credentials;
    std::string service_name;  // As the health service knows it.
    // For all connections' buffers together; past it gRPC reads more slowly, and at
    // last ends calls.
    std::size_t buffer_bytes_max = 0;
    // How many queues, each with a thread, `accept` is called for. All methods of the
    // service come by them.
    int queues = 1;
    CallQueue::Callers callers = CallQueue::Callers::kMany;
    CallQueue::Accept accept;
    // See Acceptor.
    std::size_t connections_max = 10'000;
    std::size_t connections_per_peer_max = 10'000;
    std::function<void(Acceptor::Refused why, const std::string& address)> on_refused;
    // For an answer to Alive().
    std::chrono::nanoseconds patience = Heartbeat::kPatience;
    // Calls may take longer than a connection is kept at most: it waits for them.
    bool long_calls = false;
  };
  // One clear line if the address can't be had.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Listen(const Options& options,
                                                            grpc::Service& service);
  ~GrpcServer();

  int port() const { return acceptor_->port(); }
  const Acceptor& acceptor() const { return *acceptor_; }
  // An error names a thread that no longer turns. From any thread.
  absl::Status Alive();
  // From now on the health service says NOT_SERVING, for good.
  void StopServing();
  // Takes no new calls, and soon cancels those that are still in flight: callers
  // first wait for theirs. A grace of gRPC's own would wait for connections too,
  // and idle clients may take 5 s to notice that they are to close theirs.
  void Shutdown();

 private:
  explicit GrpcServer(const Options& options);
  void Start(const CallQueue::Accept& accept);

  HealthService health_;
  ReflectionService reflection_;
  // Shared: with gRPC's builder, whose server refers to them and does not keep them.
  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  // After what calls need, and before the server, which they outlive.
  std::vector<std::unique_ptr<CallQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;  // Null: it could not start.
  std::unique_ptr<Acceptor> acceptor_;    // Last: hands the server its connections.
  bool shut_down_ = false;
};

}  // namespace onced
