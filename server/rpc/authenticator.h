// Finds out who sent a call.
#pragma once

#include <grpcpp/grpcpp.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "google/rpc/status.pb.h"
#include "server/base/clock.h"
#include "server/identity/reloaded.h"
#include "server/identity/token_table.h"
#include "server/ledger/access.h"
#include "server/rpc/caller.h"
#include "server/rpc/peer_expiries.h"

namespace onced {

// Why a caller isn't known. Its own answer is the same for all.
enum class AuthFailure : std::uint8_t {
  kNoCredentials,    // Neither a token nor a certificate with a name in it.
  kMalformedHeader,  // `authorization` isn't one "Bearer TOKEN".
  kUnknownToken,
  kExpiredToken,
  kExpiredCertificate,
};
inline constexpr AuthFailure kAuthFailures[] = {
    AuthFailure::kNoCredentials, AuthFailure::kMalformedHeader, AuthFailure::kUnknownToken,
    AuthFailure::kExpiredToken, AuthFailure::kExpiredCertificate};
// As a metric's label and in the log.
const char* NameOf(AuthFailure failure);

// Operation: a call with a bearer token is whoever that token is; one without is whoever its
//            connection's certificate says. Who comes with a wrong token isn't let in,
//            whatever the certificate.
// Threads:   all from any thread; nothing blocks.
// Lifetime:  outlives the services that it is given to; what Options refers to outlives it.
class Authenticator {
 public:
  struct Options {
    const AccessList* access = nullptr;            // Required.
    const Reloaded<TokenTable>* tokens = nullptr;  // nullptr: there are none.
    const Clock* clock = nullptr;                  // Required: of the wall, as TLS goes by it.
    // Of a failure, and the address that it came from.
    std::function<void(AuthFailure, const std::string& peer)> told;
  };

  // Asks nobody: everybody is anonymous, and may do everything.
  Authenticator() = default;
  explicit Authenticator(Options options) : options_(std::move(options)) {}

  // Once for each call. The error ends it: UNAUTHENTICATED.
  std::variant<Caller, google::rpc::Status> Identify(const grpc::ServerContextBase& context) const;
  // Of a call that goes on: the error that ends it, if who sent it would not be let
  // in any more. Cheap; once for each message.
  std::optional<google::rpc::Status> Recheck(const grpc::ServerContextBase& context,
                                             Caller& caller) const;

  std::uint64_t failures(AuthFailure failure) const {
    return failures_[static_cast<std::size_t>(failure)].load();
  }

 private:
  using Identified = std::variant<Caller, AuthFailure>;

  Identified ByToken(absl::string_view token) const;
  Identified ByCertificate(const grpc::AuthContext& peer) const;
  Identified Find(const grpc::ServerContextBase& context) const;
  bool HasPassed(absl::Time not_after) const;

  // Constant after construction. nullopt: nobody is asked.
  const std::optional<Options> options_;

  // They lock themselves.
  mutable PeerExpiries expiries_;
  mutable std::array<std::atomic<std::uint64_t>, std::size(kAuthFailures)> failures_{};
};

}  // namespace onced
