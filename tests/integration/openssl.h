// OpenSSL's objects, owned.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace onced::integration {

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<&BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Freed<&X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<&SSL_CTX_free>>;

}  // namespace onced::integration
