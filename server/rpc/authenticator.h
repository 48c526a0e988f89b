// Finds out who sent a call.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>
#include <variant>

#include "google/rpc/status.pb.h"
#include "server/rpc/caller.h"

namespace onced {

// Threads:  all from any thread; nothing blocks.
// Lifetime: outlives the services that it is given to.
class Authenticator {
 public:
  // Asks nobody: everybody is anonymous, and may do everything.
  Authenticator() = default;

  // Once for each call. The error ends it: UNAUTHENTICATED.
  std::variant<Caller, google::rpc::Status> Identify(const grpc::ServerContextBase& context) const;
  // Of a call that goes on: the error that ends it, if who sent it would not be let
  // in any more. Cheap; once for each message.
  std::optional<google::rpc::Status> Recheck(const grpc::ServerContextBase& context,
                                             Caller& caller) const;
};

}  // namespace onced
