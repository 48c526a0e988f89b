// How a client shows who it is.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"

namespace onced::client {

// Paths of PEM files. Read once: a client that is to use another certificate connects anew.
struct TlsFiles {
  std::string ca = {};  // Who signed the server's certificate. Empty: whom the machine trusts.
  std::string certificate = {};  // The client's own, and those that signed it. Empty: none.
  std::string key = {};          // Of it.
};

// For ConnectOptions::credentials. An error says which file can't be read, or isn't what it
// should be.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsFiles& files);

// `channel`'s, and with each call the bearer token in the only line of `file`: read when it is
// first needed, and again when the file was replaced. Without one a call fails as UNAVAILABLE, and
// nothing is sent.
std::shared_ptr<grpc::ChannelCredentials> WithTokenFile(
    const std::shared_ptr<grpc::ChannelCredentials>& channel, const std::string& file);

// Whether there is a token in it now.
absl::Status CheckTokenFile(const std::string& file);

}  // namespace onced::client
