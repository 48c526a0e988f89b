#include "server/rpc/authenticator.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "server/rpc/errors.h"
#include "server/rpc/peer_names.h"

namespace onced {
namespace {

constexpr char kHeader[] = "authorization";
constexpr absl::string_view kScheme = "Bearer ";  // Of any case: RFC 7235.

}  // namespace

const char* NameOf(AuthFailure failure) {
  switch (failure) {
    case AuthFailure::kNoCredentials:
      return "no_credentials";
    case AuthFailure::kMalformedHeader:
      return "malformed_header";
    case AuthFailure::kUnknownToken:
      return "unknown_token";
    case AuthFailure::kExpiredToken:
      return "expired_token";
    case AuthFailure::kExpiredCertificate:
      return "expired_certificate";
  }
  __builtin_unreachable();
}

std::variant<Caller, google::rpc::Status> Authenticator::Identify(
    const grpc::ServerContextBase& context) const {
  if (!options_.has_value()) return Caller::Anyone();
  Identified identified = Find(context);
  if (auto* caller = std::get_if<Caller>(&identified)) return std::move(*caller);
  const AuthFailure failure = std::get<AuthFailure>(identified);
  ++failures_[static_cast<std::size_t>(failure)];
  if (options_->told) options_->told(failure, context.peer());
  return Unauthenticated();
}

std::optional<google::rpc::Status> Authenticator::Recheck(const grpc::ServerContextBase& context,
                                                          Caller& caller) const {
  const bool same_tokens =
      !caller.token_version_.has_value() || *caller.token_version_ == options_->tokens->version();
  if (same_tokens && !HasPassed(caller.not_after_)) return std::nullopt;
  auto again = Identify(context);
  if (auto* stranger = std::get_if<google::rpc::Status>(&again)) return std::move(*stranger);
  caller = std::get<Caller>(std::move(again));
  return std::nullopt;
}

Authenticator::Identified Authenticator::Find(const grpc::ServerContextBase& context) const {
  const auto [begin, end] = context.client_metadata().equal_range(kHeader);
  if (begin == end) return ByCertificate(*context.auth_context());
  const absl::string_view value(begin->second.data(), begin->second.size());
  if (std::next(begin) != end || !absl::StartsWithIgnoreCase(value, kScheme)) {
    return AuthFailure::kMalformedHeader;
  }
  return ByToken(value.substr(kScheme.size()));
}

Authenticator::Identified Authenticator::ByToken(absl::string_view token) const {
  if (options_->tokens == nullptr) return AuthFailure::kUnknownToken;
  // Read before the table: at worst that is newer, and the caller is looked at once more.
  const std::uint64_t version = options_->tokens->version();
  const auto table = options_->tokens->Get();
  const TokenTable::Entry* entry = table->Find(token);
  if (entry == nullptr) return AuthFailure::kUnknownToken;
  if (HasPassed(entry->not_after)) return AuthFailure::kExpiredToken;
  Caller caller(entry->identity, options_->access->GrantsOf({&entry->identity, 1}));
  caller.token_version_ = version;
  caller.not_after_ = entry->not_after;
  return caller;
}

bool Authenticator::HasPassed(absl::Time not_after) const {
  return not_after != absl::InfiniteFuture() && options_->clock->Now() >= not_after;
}

Authenticator::Identified Authenticator::ByCertificate(const grpc::AuthContext& peer) const {
  std::vector<std::string> names = PeerNames(peer);
  if (names.empty()) return AuthFailure::kNoCredentials;
  // TLS looks at this in a first handshake only: a session that is resumed by its ticket, or
  // a connection that stays, has the certificate's names for as long as it likes.
  const absl::Time not_after = expiries_.Of(peer);
  if (HasPassed(not_after)) return AuthFailure::kExpiredCertificate;
  AccessList::Grants grants = options_->access->GrantsOf(names);
  Caller caller(std::move(names[0]), std::move(grants));
  caller.not_after_ = not_after;
  return caller;
}

}  // namespace onced
