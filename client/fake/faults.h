// Calls that go wrong because a test wants them to.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "client/fake/fake_server.h"
#include "grpcpp/support/status.h"
#include "server/base/mutex.h"

namespace onced::client {

// What becomes of one call.
struct Fault {
  // Else it is executed, and only then fails.
  bool refused = false;
  grpc::Status status;
};

// Threads: any.
class Faults {
 public:
  void Order(int count, std::optional<Rpc> rpc, const Fault& fault) ABSL_LOCKS_EXCLUDED(mutex_);
  void Clear() ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a call, and says what is to become of it; nothing: what it would anyway.
  std::optional<Fault> Meet(Rpc rpc) ABSL_LOCKS_EXCLUDED(mutex_);
  std::int64_t calls(Rpc rpc) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Ordered {
    int count;
    std::optional<Rpc> rpc;
    Fault fault;
  };

  mutable Mutex mutex_;
  std::deque<Ordered> ordered_ ABSL_GUARDED_BY(mutex_);
  std::array<std::int64_t, 7> calls_ ABSL_GUARDED_BY(mutex_){};
};

// Has gRPC show `faults`, which outlives the server, every call of the service.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> InterceptorOf(
    Faults& faults);

}  // namespace onced::client
