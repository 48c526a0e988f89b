#include "client/cpp/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace onced::client {
namespace {

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<&BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<&X509_free>>;

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is there to be asked for a password.
int NoPassword(char*, int, int, void*) { return -1; }

Certificate FirstOf(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(Open(pem).get(), nullptr, &NoPassword, nullptr));
}

}  // namespace

bool HasCertificate(const std::string& pem) {
  const bool has = FirstOf(pem) != nullptr;
  ERR_clear_error();
  return has;
}

bool IsKeyOf(const std::string& key_pem, const std::string& certificate_pem) {
  const Certificate certificate = FirstOf(certificate_pem);
  const Key key(PEM_read_bio_PrivateKey(Open(key_pem).get(), nullptr, &NoPassword, nullptr));
  const bool fits = certificate != nullptr && key != nullptr &&
                    X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits;
}

}  // namespace onced::client
