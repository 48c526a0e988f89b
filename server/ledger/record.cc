#include "server/ledger/record.h"

#include <algorithm>
#include <utility>

namespace onced {
namespace {

// How much later a lease may end by it.
absl::Duration LengthOf(const Outage& outage) { return outage.grace_until - outage.down_since; }

// Whether nothing that ran out in it can still be known.
bool IsPast(const Outage& outage, absl::Time now) {
  return outage.grace_until + limits::kRetentionMax <= now;
}

// Not the last one, whose grace has just begun, nor, if there are others, one whose
// grace that cut short.
void ForgetShortest(Outages& outages) {
  const auto worth = [&](const Outage& outage) {
    return std::pair(outage.grace_until > outages.back().down_since, LengthOf(outage));
  };
  outages.erase(
      std::min_element(outages.begin(), outages.end() - 1,
                       [&](const Outage& a, const Outage& b) { return worth(a) < worth(b); }));
}

}  // namespace

bool SameResult(const Result& a, const Result& b) {
  return a.status_code == b.status_code && a.headers == b.headers && a.body_size == b.body_size &&
         a.body_sha256 == b.body_sha256;
}

Outages EndOutage(Outages earlier, absl::Time last_used, absl::Time now,
                  absl::Duration restart_grace) {
  std::erase_if(earlier, [&](const Outage& outage) { return IsPast(outage, now); });
  Outage outage{.down_since = last_used, .serving_since = now, .grace_until = now + restart_grace};
  // It was up so briefly that nothing can have lapsed in between: they are one, as
  // in a crash loop.
  while (!earlier.empty() && last_used <= earlier.back().serving_since &&
         earlier.back().grace_until > last_used) {
    outage.down_since = std::min(outage.down_since, earlier.back().down_since);
    earlier.pop_back();
  }
  earlier.push_back(outage);
  if (earlier.size() > kOutagesMax) ForgetShortest(earlier);
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
