// The gRPC port.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace onced {

// Operation: serves one service, with health (grpc.health.v1) and reflection
//            beside it, within limits that keep one client from harming others.
// Threads:   gRPC's own; the functions here from one thread.
// Lifetime:  `service` outlives it.
// Promise:   once Shutdown() has returned, no call is in flight.
class GrpcServer {
 public:
  // `address` is host:port; port 0 takes any free one. One clear line if it
  // can't be had. `buffer_bytes_max` is for all connections' buffers together; past
  // it gRPC reads more slowly, and at last ends calls.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Listen(const std::string& address,
                                                            grpc::Service& service,
                                                            std::size_t buffer_bytes_max);
  ~GrpcServer();

  int port() const { return port_; }
  // From now on the health service says NOT_SERVING, for good.
  void StopServing();
  // Takes no new calls, and soon cancels those that are still in flight: callers
  // first wait for theirs. A grace of gRPC's own would wait for connections too,
  // and idle clients may take 5 s to notice that they are to close theirs.
  void Shutdown();

 private:
  GrpcServer(std::unique_ptr<grpc::Server> server, int port);

  std::unique_ptr<grpc::Server> server_;
  int port_;
};

}  // namespace onced
