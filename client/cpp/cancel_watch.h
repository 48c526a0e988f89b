// A stop for a call of gRPC's server that its caller may cancel.
#pragma once

#include <stop_token>
#include <thread>

#include "client/cpp/client_core.h"
#include "grpcpp/server_context.h"

namespace onced::client {

// Operation: asks the call every 50 ms whether it is cancelled. A handler of the synchronous API
//            isn't told.
// Threads:   one of its own, which asks; without it, where none can be made, no stop is ever
//            requested.
// Lifetime:  ends before `context` and `core`.
class CancelWatch {
 public:
  CancelWatch(const grpc::ServerContextBase& context, ClientCore& core);

  std::stop_token token() const { return cancelled_.get_token(); }

 private:
  std::stop_source cancelled_;
  std::jthread thread_;  // Last: uses what is above.
};

}  // namespace onced::client
