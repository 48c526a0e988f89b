#include "server/ledger/record.h"

#include <algorithm>
#include <cstddef>

namespace onced {
namespace {

// Makes one of the two that have the least time between them.
void MergeClosest(Outages& outages) {
  const auto between = [&](std::size_t i) {
    return outages[i + 1].down_since - outages[i].serving_since;
  };
  std::size_t closest = 0;
  for (std::size_t i = 1; i + 1 < outages.size(); ++i) {
    if (between(i) < between(closest)) closest = i;
  }
  Outage& later = outages[closest + 1];
  later.down_since = outages[closest].down_since;
  later.grace_until = std::max(later.grace_until, outages[closest].grace_until);
  outages.erase(outages.begin() + static_cast<std::ptrdiff_t>(closest));
}

}  // namespace

bool SameResult(const Result& a, const Result& b) {
  return a.status_code == b.status_code && a.headers == b.headers && a.body_size == b.body_size &&
         a.body_sha256 == b.body_sha256;
}

Outages EndOutage(Outages earlier, absl::Time last_used, absl::Time now,
                  absl::Duration restart_grace) {
  earlier.push_back(
      {.down_since = last_used, .serving_since = now, .grace_until = now + restart_grace});
  while (earlier.size() > kOutagesMax) MergeClosest(earlier);
  return earlier;
}

absl::Time LeaseEnd(const Pending& pending, const Outages& outages) {
  absl::Time end = pending.lease_expire_time;
  bool graced = false;
  for (const Outage& outage : outages) {
    const bool ran_out_meanwhile = end > outage.down_since && end <= outage.serving_since;
    const bool grace_cut_short = graced && end > outage.down_since;
    if (!ran_out_meanwhile && !grace_cut_short) continue;
    end = std::max(end, outage.grace_until);
    graced = true;
  }
  return end;
}

OnLapse OnLapseOf(const Record& record, Epoch epoch) {
  if (record.token.epoch != epoch) return OnLapse::kHold;
  return std::get<Pending>(record.phase).on_lapse;
}

absl::Time ExpireTime(const Record& record, const View& view) {
  if (const auto* committed = std::get_if<Committed>(&record.phase)) return committed->expire_time;
  if (OnLapseOf(record, view.epoch) == OnLapse::kHold) return absl::InfiniteFuture();
  const auto& pending = std::get<Pending>(record.phase);
  return LeaseEnd(pending, view.outages) + pending.lapsed_retention;
}

State StateOf(const std::optional<Record>& record, const View& view) {
  if (!record.has_value() || view.now >= ExpireTime(*record, view)) return State::kAbsent;
  const auto* pending = std::get_if<Pending>(&record->phase);
  if (pending == nullptr) return State::kCommitted;
  const bool lapsed =
      view.now >= LeaseEnd(*pending, view.outages) || record->token.epoch != view.epoch;
  return lapsed ? State::kLapsed : State::kPending;
}

}  // namespace onced
