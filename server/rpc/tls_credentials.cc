#include "server/rpc/tls_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

namespace onced {
namespace {

grpc_ssl_client_certificate_request_type RequestOf(ClientCertificates clients) {
  switch (clients) {
    case ClientCertificates::kNotAsked:
      return GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    case ClientCertificates::kRequested:
      return GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    case ClientCertificates::kRequired:
      return GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  __builtin_unreachable();
}

// gRPC's own that reload (FileWatcherCertificateProvider) go by the time of a file's change,
// have a thread that sleeps, and take what they read without a look at it.
class Credentials final : public grpc::ServerCredentials {
 public:
  Credentials(const Reloaded<Certificate>& certificate, ClientCertificates clients)
      : certificate_(certificate), request_(RequestOf(clients)) {}

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  // What was handed to gRPC for one port, which asks at each handshake of it.
  struct Port {
    explicit Port(const Reloaded<Certificate>& of) : certificate(of) {}
    const Reloaded<Certificate>& certificate;
    std::atomic<std::uint64_t> version = 0;
  };

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    Port& port = ports_.emplace_back(certificate_);
    auto* options =
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request_, &Fetch, &port);
    auto* credentials = grpc_ssl_server_credentials_create_with_options(options);
    const int bound = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);  // The port keeps them.
    return bound;
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* user_data, grpc_ssl_server_certificate_config** config) {
    Port& port = *static_cast<Port*>(user_data);
    // Read before the value: at worst that is newer, and is handed over twice.
    const std::uint64_t version = port.certificate.version();
    if (port.version.exchange(version) == version)
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const auto newest = port.certificate.Get();
    const grpc_ssl_pem_key_cert_pair pair{newest->key.c_str(), newest->chain.c_str()};
    // gRPC wants some, also where no client is asked for a certificate, and ends the process
    // if it gets none: then these are not looked at.
    const std::string& client_ca = newest->client_ca.empty() ? newest->chain : newest->client_ca;
    *config = grpc_ssl_server_certificate_config_create(client_ca.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  // Constant after construction.
  const Reloaded<Certificate>& certificate_;
  const grpc_ssl_client_certificate_request_type request_;

  std::deque<Port> ports_;  // The builder's thread's; each then gRPC's.
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const Reloaded<Certificate>& certificate,
                                                        ClientCertificates clients) {
  return std::make_shared<Credentials>(certificate, clients);
}

}  // namespace onced
