#include "client/cpp/lease_keeper.h"
#include "client/cpp/run_once.h"

namespace onced::client {

const std::optional<Previous>& WorkContext::previous() const {
  static const std::optional<Previous> kNone;
  return unprotected() ? kNone : reservation_->previous();
}

std::int64_t WorkContext::fence() const { return unprotected() ? 0 : reservation_->fence(); }
int WorkContext::attempt() const { return unprotected() ? 0 : reservation_->attempt(); }

std::stop_token WorkContext::lost() const {
  return unprotected() ? std::stop_token() : keeper_->lost();
}

absl::Duration WorkContext::lease_left() const {
  return unprotected() ? absl::InfiniteDuration() : reservation_->lease_left();
}

absl::Status WorkContext::SaveCheckpoint(const std::string& checkpoint) {
  if (unprotected()) return absl::FailedPreconditionError("the run is unprotected");
  return reservation_->Extend({.lease_ttl = lease_ttl_, .checkpoint = checkpoint});
}

}  // namespace onced::client
