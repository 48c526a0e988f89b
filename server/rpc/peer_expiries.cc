#include "server/rpc/peer_expiries.h"

#include <grpc/grpc_security_constants.h>

#include "absl/strings/string_view.h"
#include "server/base/bytes.h"
#include "server/identity/certificate.h"

namespace onced {

absl::Time PeerExpiries::Of(const grpc::AuthContext& peer) {
  const auto found = peer.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (found.empty()) return absl::InfinitePast();
  const absl::string_view pem(found[0].data(), found[0].size());
  const std::string digest = Sha256(pem);
  {
    const MutexLock lock(mutex_);
    if (const auto known = known_.find(digest); known != known_.end()) return known->second;
  }
  const absl::Time expiry = CertificateExpiryOf(pem).value_or(absl::InfinitePast());
  const MutexLock lock(mutex_);
  if (known_.size() >= kRememberedMax) known_.clear();
  known_.emplace(digest, expiry);
  return expiry;
}

}  // namespace onced
