#include "server/identity/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onced {
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
using Context = std::unique_ptr<SSL_CTX, Freed<&SSL_CTX_free>>;
using X509Ptr = std::unique_ptr<X509, Freed<&X509_free>>;

absl::Status Wrong(const std::string& path, absl::string_view what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

Bio Open(absl::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is there to be asked for a password.
int NoPassword(char*, int, int, void*) { return -1; }

// All of them, and nothing that isn't whole.
absl::StatusOr<std::vector<X509Ptr>> ReadAll(const std::string& path, const std::string& text) {
  const Bio bio = Open(text);
  std::vector<X509Ptr> all;
  ERR_clear_error();
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, &NoPassword, nullptr)) {
    all.emplace_back(one);
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return Wrong(path, "has a certificate that is damaged or cut off");
  }
  ERR_clear_error();
  if (all.empty()) return Wrong(path, "has no certificate (PEM)");
  return all;
}

absl::StatusOr<absl::Time> ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InvalidArgumentError("has no valid time");
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string Shown(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

// When it expires; an error if it isn't valid at `now`.
absl::StatusOr<absl::Time> CheckTimes(X509& certificate, absl::Time now) {
  const auto from = ToTime(X509_get0_notBefore(&certificate));
  if (!from.ok()) return from.status();
  if (*from > now) {
    return absl::InvalidArgumentError(absl::StrCat("is not valid before ", Shown(*from)));
  }
  const auto to = ToTime(X509_get0_notAfter(&certificate));
  if (!to.ok()) return to.status();
  if (*to < now) return absl::InvalidArgumentError(absl::StrCat("expired at ", Shown(*to)));
  return *to;
}

// By name and by signature: an authority whose key was changed has the same name.
bool IsIssuedBy(X509& certificate, X509& issuer) {
  const bool issued = X509_check_issued(&issuer, &certificate) == X509_V_OK &&
                      X509_verify(&certificate, X509_get0_pubkey(&issuer)) == 1;
  ERR_clear_error();
  return issued;
}

// The first that expires.
absl::StatusOr<absl::Time> CheckChain(const std::string& path, const std::vector<X509Ptr>& chain,
                                      absl::Time now) {
  absl::Time first = absl::InfiniteFuture();
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto wrong = [&](absl::string_view what) {
      return Wrong(path, absl::StrCat("certificate ", i + 1, " of ", chain.size(), " ", what));
    };
    const auto expires = CheckTimes(*chain[i], now);
    if (!expires.ok()) return wrong(expires.status().message());
    first = std::min(first, *expires);
    const bool last = i + 1 == chain.size();
    if (!last && !IsIssuedBy(*chain[i], *chain[i + 1])) {
      return wrong("was not issued by the next: the server's own comes first, then who signed it");
    }
  }
  if (X509_check_purpose(chain[0].get(), X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return Wrong(path, "the first certificate is not one for servers");
  }
  return first;
}

// As whoever serves it will do it: it may, say, find the key too short.
absl::Status CheckUse(const std::string& path, const std::vector<X509Ptr>& chain) {
  const Context context(SSL_CTX_new(TLS_server_method()));
  ERR_clear_error();
  bool used = context != nullptr && SSL_CTX_use_certificate(context.get(), chain[0].get()) == 1;
  for (std::size_t i = 1; used && i < chain.size(); ++i) {
    used = SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) == 1;
  }
  if (used) return absl::OkStatus();
  const char* why = ERR_reason_error_string(ERR_peek_last_error());
  return Wrong(path, absl::StrCat("can't be used for TLS: ", why != nullptr ? why : "no reason"));
}

absl::Status CheckKey(const CertificatePaths& paths, const std::string& text, X509& certificate) {
  const Bio bio = Open(text);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassword, nullptr));
  if (key == nullptr) return Wrong(paths.key, "has no private key (PEM, without a password)");
  if (X509_check_private_key(&certificate, key.get()) != 1) {
    return Wrong(paths.key, absl::StrCat("is not the key of the certificate in ", paths.chain));
  }
  return absl::OkStatus();
}

// When the last of them expires: some may have, beside those that have taken their place.
absl::StatusOr<absl::Time> CheckClientCa(const std::string& path, const std::string& text,
                                         absl::Time now) {
  const auto all = ReadAll(path, text);
  if (!all.ok()) return all.status();
  absl::StatusOr<absl::Time> last = absl::InvalidArgumentError("");
  for (const X509Ptr& one : *all) {
    if (X509_check_ca(one.get()) == 0) {
      return Wrong(path, "has a certificate that is not one of an authority");
    }
    const auto expires = CheckTimes(*one, now);
    const bool later = expires.ok() && (!last.ok() || *expires > *last);
    if (later || (!last.ok() && !expires.ok())) last = expires;
  }
  if (last.ok()) return last;
  return Wrong(path, absl::StrCat("has no authority that is valid now: the last one ",
                                  last.status().message()));
}

}  // namespace

std::vector<std::string> CertificatePaths::files() const {
  std::vector<std::string> all = {chain, key};
  if (!client_ca.empty()) all.push_back(client_ca);
  return all;
}

absl::StatusOr<absl::Time> CertificateExpiryOf(absl::string_view pem) {
  const Bio bio = Open(pem);
  const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, &NoPassword, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) return absl::InvalidArgumentError("is not a certificate (PEM)");
  return ToTime(X509_get0_notAfter(certificate.get()));
}

absl::StatusOr<Certificate> CheckCertificate(const CertificatePaths& paths,
                                             const std::vector<std::string>& texts,
                                             absl::Time now) {
  const auto chain = ReadAll(paths.chain, texts[0]);
  if (!chain.ok()) return chain.status();
  if (auto status = CheckKey(paths, texts[1], *chain->front()); !status.ok()) return status;
  if (auto status = CheckUse(paths.chain, *chain); !status.ok()) return status;
  const auto not_after = CheckChain(paths.chain, *chain, now);
  if (!not_after.ok()) return not_after.status();
  Certificate certificate{.chain = texts[0], .key = texts[1], .not_after = *not_after};
  if (!paths.client_ca.empty()) {
    const auto ca_not_after = CheckClientCa(paths.client_ca, texts[2], now);
    if (!ca_not_after.ok()) return ca_not_after.status();
    certificate.client_ca = texts[2];
    certificate.client_ca_not_after = *ca_not_after;
  }
  return certificate;
}

}  // namespace onced
