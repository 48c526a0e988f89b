#include "server/rpc/peer_names.h"

#include <grpc/grpc_security_constants.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/base/names.h"

namespace onced {
namespace {

// As many as a certificate may sensibly have.
constexpr std::size_t kNamesMax = 64;

absl::string_view TextOf(const grpc::string_ref& text) { return {text.data(), text.size()}; }

// A URI may be "token:admin", or "dns:host": whoever is given such a certificate isn't
// taken for somebody else.
bool IsUri(absl::string_view text) {
  return absl::StrContains(text, "://") && !absl::StartsWithIgnoreCase(text, "token:") &&
         !absl::StartsWithIgnoreCase(text, "dns:");
}

bool IsDnsName(absl::string_view text) { return !text.empty() && AreNameBytes(text); }

}  // namespace

std::vector<std::string> PeerNames(const grpc::AuthContext& peer) {
  std::vector<std::string> names;
  for (const auto& uri : peer.FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    if (IsUri(TextOf(uri)) && names.size() < kNamesMax) names.emplace_back(TextOf(uri));
  }
  for (const auto& dns : peer.FindPropertyValues(GRPC_PEER_DNS_PROPERTY_NAME)) {
    if (!IsDnsName(TextOf(dns)) || names.size() >= kNamesMax) continue;
    names.push_back(absl::StrCat("dns:", absl::AsciiStrToLower(TextOf(dns))));
  }
  return names;
}

}  // namespace onced
