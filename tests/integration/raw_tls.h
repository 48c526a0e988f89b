// TLS without gRPC: what a server shows at the handshake.
#pragma once

#include <string>

namespace onced::integration {

struct Handshake {
  bool ok = false;
  std::string certificate;  // The server's, as PEM.
  std::string error;        // OpenSSL's, if it failed.
};

enum class TlsVersion { k10, k11, k12, k13 };

// With this version and no other, believing whatever certificate comes.
Handshake ShakeHands(const std::string& address, TlsVersion version = TlsVersion::k13);

// Sends bytes to a port as they are, and returns when the other side has closed, or after
// some of an answer.
std::string SendBytes(const std::string& address, const std::string& bytes);

}  // namespace onced::integration
