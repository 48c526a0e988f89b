// How a client reaches the server.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/security/credentials.h"

namespace onced::client {

struct ConnectOptions {
  // Null: neither encrypted nor authenticated. See TlsCredentials() in security.h.
  std::shared_ptr<grpc::ChannelCredentials> credentials = {};
  // Holds a bearer token, which goes with each call; read again when it is replaced.
  // Without `credentials` the calls go to this machine's loopback addresses alone, and fail
  // for others: a token is never sent in the clear. With insecure `credentials` every call
  // fails. Empty: none.
  std::string auth_token_file = {};
  // Put before gRPC's own user agent.
  std::string user_agent = {};
  // Whether to go through the proxy that the environment names for the web
  // (`http_proxy`), as gRPC does by default, for loopback addresses too.
  bool use_http_proxy = false;
  // The longest pause before a lost connection is tried again. Calls fail at once
  // meanwhile. gRPC's own default is 2 minutes, longer than most retries go on. It is also how
  // long a connection may take to be made, and how soon the name is looked up again: both 3 s at
  // least.
  absl::Duration reconnect_backoff_max = absl::Seconds(2);
};

}  // namespace onced::client
