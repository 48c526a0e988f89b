// Certificates for tests, made on the spot, signed by an authority of the test's own. EC keys,
// unless another kind is asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace onced::integration {

// A certificate and its key, as PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

struct CertificateOptions {
  std::vector<std::string> uris;
  std::vector<std::string> dns;  // "127.0.0.1" is always one, as an address.
  absl::Duration not_before = -absl::Hours(1);
  absl::Duration not_after = absl::Hours(24);
  enum class Key { kEc, kRsa, kShortRsa } key = Key::kEc;
  std::string extended_key_usage;  // Empty: any.
};

class Authority {
 public:
  explicit Authority(const std::string& name, absl::Duration not_after = absl::Hours(24 * 30));
  ~Authority();
  Authority(Authority&&) noexcept;
  // One whose certificate this one has signed.
  Authority Intermediate(const std::string& name) const;

  const std::string& certificate() const { return pair_.certificate; }
  KeyPair Issue(const CertificateOptions& options) const;
  // By nobody but itself.
  static KeyPair SelfSigned(const CertificateOptions& options);

 private:
  struct Keys;

  // `issuer` is nullptr for one that signs itself.
  Authority(const std::string& name, const Keys* issuer, absl::Duration not_after);

  std::unique_ptr<Keys> keys_;
  KeyPair pair_;
};

}  // namespace onced::integration
