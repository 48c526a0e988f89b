// TLS for a gRPC port, with a certificate that may be replaced.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/identity/certificate.h"
#include "server/identity/reloaded.h"

namespace onced {

// Whether clients are asked for a certificate of their own.
enum class ClientCertificates : std::uint8_t { kNotAsked, kRequested, kRequired };

// Each handshake uses the newest certificate; connections that there are go on. TLS 1.2
// or later.
// Lifetime: `certificate` outlives them; they outlive the server that they are given to,
//           which whoever builds that sees to.
std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const Reloaded<Certificate>& certificate,
                                                        ClientCertificates clients);

}  // namespace onced
