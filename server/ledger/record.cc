#include "server/ledger/record.h"

#include <algorithm>

namespace onced {

bool SameResult(const Result& a, const Result& b) {
  return a.status_code == b.status_code && a.headers == b.headers && a.body_size == b.body_size &&
         a.body_sha256 == b.body_sha256;
}

Outage EndOutage(const Outage& earlier, absl::Time last_used, absl::Time now,
                 absl::Duration restart_grace) {
  const bool grace_cut_short = earlier.grace_until > last_used;
  return {.down_since = grace_cut_short ? std::min(earlier.down_since, last_used) : last_used,
          .serving_since = now,
          .grace_until = now + restart_grace};
}

absl::Time LeaseEnd(const Pending& pending, const Outage& outage) {
  const absl::Time end = pending.lease_expire_time;
  const bool ran_out_meanwhile = end > outage.down_since && end <= outage.serving_since;
  return ran_out_meanwhile ? std::max(end, outage.grace_until) : end;
}

OnLapse OnLapseOf(const Record& record, Epoch epoch) {
  if (record.token.epoch != epoch) return OnLapse::kHold;
  return std::get<Pending>(record.phase).on_lapse;
}

absl::Time ExpireTime(const Record& record, const View& view) {
  if (const auto* committed = std::get_if<Committed>(&record.phase)) return committed->expire_time;
  if (OnLapseOf(record, view.epoch) == OnLapse::kHold) return absl::InfiniteFuture();
  const auto& pending = std::get<Pending>(record.phase);
  return LeaseEnd(pending, view.outage) + pending.lapsed_retention;
}

State StateOf(const std::optional<Record>& record, const View& view) {
  if (!record.has_value() || view.now >= ExpireTime(*record, view)) return State::kAbsent;
  const auto* pending = std::get_if<Pending>(&record->phase);
  if (pending == nullptr) return State::kCommitted;
  const bool lapsed =
      view.now >= LeaseEnd(*pending, view.outage) || record->token.epoch != view.epoch;
  return lapsed ? State::kLapsed : State::kPending;
}

}  // namespace onced
