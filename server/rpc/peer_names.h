// What a client's certificate calls it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <vector>

namespace onced {

// As the access list has them: URIs as they stand, then "dns:NAME" in small letters. None
// if there is no certificate, or it has no such names.
std::vector<std::string> PeerNames(const grpc::AuthContext& peer);

}  // namespace onced
