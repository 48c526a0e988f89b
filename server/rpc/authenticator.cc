#include "server/rpc/authenticator.h"

namespace onced {

std::variant<Caller, google::rpc::Status> Authenticator::Identify(
    const grpc::ServerContextBase& /*context*/) const {
  return Caller::Anyone();
}

std::optional<google::rpc::Status> Authenticator::Recheck(
    const grpc::ServerContextBase& /*context*/, Caller& /*caller*/) const {
  return std::nullopt;
}

}  // namespace onced
