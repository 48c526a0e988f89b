#include "tests/integration/raw_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "tests/integration/openssl.h"

namespace onced::integration {
namespace {

int NumberOf(TlsVersion version) {
  switch (version) {
    case TlsVersion::k10:
      return TLS1_VERSION;
    case TlsVersion::k11:
      return TLS1_1_VERSION;
    case TlsVersion::k12:
      return TLS1_2_VERSION;
    case TlsVersion::k13:
      return TLS1_3_VERSION;
  }
  __builtin_unreachable();
}

std::string PemOf(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string LastError() {
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  return reason != nullptr ? reason : "the connection ended";
}

}  // namespace

Handshake ShakeHands(const std::string& address, TlsVersion version) {
  ERR_clear_error();
  const Context context(SSL_CTX_new(TLS_client_method()));
  // Old versions are not offered at the usual level.
  SSL_CTX_set_cipher_list(context.get(), "DEFAULT@SECLEVEL=0");
  SSL_CTX_set_min_proto_version(context.get(), NumberOf(version));
  SSL_CTX_set_max_proto_version(context.get(), NumberOf(version));
  const unsigned char kH2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), kH2, sizeof kH2);
  const Bio bio(BIO_new_ssl_connect(context.get()));
  BIO_set_conn_hostname(bio.get(), address.c_str());
  if (BIO_do_connect(bio.get()) != 1 || BIO_do_handshake(bio.get()) != 1) {
    return {.error = LastError()};
  }
  SSL* ssl = nullptr;
  BIO_get_ssl(bio.get(), &ssl);
  const Cert certificate(SSL_get1_peer_certificate(ssl));
  return {.ok = true, .certificate = PemOf(certificate.get())};
}

std::string SendBytes(const std::string& address, const std::string& bytes) {
  const Bio bio(BIO_new_connect(address.c_str()));
  if (BIO_do_connect(bio.get()) != 1) return {};
  BIO_write(bio.get(), bytes.data(), static_cast<int>(bytes.size()));
  std::string answer(4096, '\0');
  const int size = BIO_read(bio.get(), answer.data(), static_cast<int>(answer.size()));
  answer.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return answer;
}

}  // namespace onced::integration
