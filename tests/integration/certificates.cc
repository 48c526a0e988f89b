#include "tests/integration/certificates.h"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/integration/openssl.h"

namespace onced::integration {
namespace {

void Must(bool ok) {
  if (!ok) throw std::runtime_error("OpenSSL failed");
}

Key NewKey(CertificateOptions::Key kind = CertificateOptions::Key::kEc) {
  using Kind = CertificateOptions::Key;
  Key key(kind == Kind::kEc ? EVP_EC_gen("P-256") : EVP_RSA_gen(kind == Kind::kRsa ? 2048U : 512U));
  Must(key != nullptr);
  return key;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);  // NOLINT(google-runtime-int): OpenSSL's.
  return {data, static_cast<std::size_t>(size)};
}

KeyPair PairOf(X509* cert, EVP_PKEY* key) {
  const Bio cert_bio(BIO_new(BIO_s_mem()));
  const Bio key_bio(BIO_new(BIO_s_mem()));
  Must(PEM_write_bio_X509(cert_bio.get(), cert) == 1);
  Must(PEM_write_bio_PrivateKey(key_bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {TextOf(cert_bio.get()), TextOf(key_bio.get())};
}

void AddExtension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Must(extension != nullptr);
  Must(X509_add_ext(cert, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

Cert NewCert(const std::string& name, EVP_PKEY* key, absl::Duration from, absl::Duration to) {
  Cert cert(X509_new());
  Must(X509_set_version(cert.get(), 2) == 1);
  std::uint64_t serial = 0;
  Must(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
  Must(ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert.get()), serial >> 1) == 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), absl::ToInt64Seconds(from));
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), absl::ToInt64Seconds(to));
  X509_NAME* subject = X509_get_subject_name(cert.get());
  Must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                  reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                  0) == 1);
  Must(X509_set_pubkey(cert.get(), key) == 1);
  return cert;
}

std::string AltNames(const CertificateOptions& options) {
  std::string names = "IP:127.0.0.1";
  for (const std::string& uri : options.uris) absl::StrAppend(&names, ",URI:", uri);
  for (const std::string& dns : options.dns) absl::StrAppend(&names, ",DNS:", dns);
  return names;
}

void Sign(X509* cert, X509* issuer, EVP_PKEY* issuer_key) {
  Must(X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1);
  Must(X509_sign(cert, issuer_key, EVP_sha256()) > 0);
}

void AddExtensions(X509* cert, X509* issuer, const CertificateOptions& options) {
  AddExtension(cert, issuer, NID_subject_alt_name, AltNames(options));
  if (options.extended_key_usage.empty()) return;
  AddExtension(cert, issuer, NID_ext_key_usage, options.extended_key_usage);
}

}  // namespace

struct Authority::Keys {
  Key key;
  Cert cert;
};

Authority::Authority(const std::string& name, absl::Duration not_after)
    : Authority(name, nullptr, not_after) {}

Authority::Authority(const std::string& name, const Keys* issuer, absl::Duration not_after)
    : keys_(std::make_unique<Keys>()) {
  keys_->key = NewKey();
  keys_->cert = NewCert(name, keys_->key.get(), -absl::Hours(3), not_after);
  if (issuer == nullptr) issuer = keys_.get();
  X509* cert = keys_->cert.get();
  Must(X509_set_issuer_name(cert, X509_get_subject_name(issuer->cert.get())) == 1);
  AddExtension(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign");
  AddExtension(cert, cert, NID_subject_key_identifier, "hash");
  Sign(cert, issuer->cert.get(), issuer->key.get());
  pair_ = PairOf(cert, keys_->key.get());
}

Authority::~Authority() = default;
Authority::Authority(Authority&&) noexcept = default;

Authority Authority::Intermediate(const std::string& name) const {
  return {name, keys_.get(), absl::Hours(24 * 30)};
}

KeyPair Authority::Issue(const CertificateOptions& options) const {
  const Key key = NewKey(options.key);
  const Cert cert = NewCert("test", key.get(), options.not_before, options.not_after);
  AddExtensions(cert.get(), keys_->cert.get(), options);
  Sign(cert.get(), keys_->cert.get(), keys_->key.get());
  return PairOf(cert.get(), key.get());
}

KeyPair Authority::SelfSigned(const CertificateOptions& options) {
  const Key key = NewKey(options.key);
  const Cert cert = NewCert("alone", key.get(), options.not_before, options.not_after);
  AddExtensions(cert.get(), cert.get(), options);
  Sign(cert.get(), cert.get(), key.get());
  return PairOf(cert.get(), key.get());
}

}  // namespace onced::integration
