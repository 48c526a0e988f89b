#include "server/rpc/quotas.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "server/rpc/errors.h"

namespace onced {

std::variant<ConcurrencySlot, absl::Duration> Quotas::Take(absl::string_view name_space,
                                                           const Quota& quota, absl::Time now) {
  if (quota.rate == 0 && quota.concurrency == 0) return ConcurrencySlot();
  Part& part = parts_[absl::Hash<absl::string_view>()(name_space) % kParts];
  const MutexLock lock(part.mutex);
  Use& use = UseOf(name_space, now, part);
  if (quota.concurrency != 0 && use.in_flight->load() >= quota.concurrency) return kSoon;
  if (quota.rate != 0) {
    const absl::Duration token = absl::Seconds(1) / static_cast<double>(quota.rate);
    const auto burst = static_cast<double>(quota.burst == 0 ? quota.rate : quota.burst);
    const absl::Time full_at = std::max(use.full_at, now) + token;
    const absl::Duration over = full_at - now - token * burst;
    // Less than a token's thousandth is what rounding has left.
    if (over > token / 1'000) return over;
    use.full_at = full_at;
  }
  return ConcurrencySlot(use.in_flight);
}

Quotas::Use& Quotas::UseOf(absl::string_view name_space, absl::Time now, Part& part) {
  const auto found = part.uses.find(name_space);
  if (found != part.uses.end()) return found->second;
  constexpr std::size_t kMost = kNamespacesMax / kParts;
  if (part.uses.size() >= kMost) ForgetIdle(now, part);
  // No namespace has an empty name.
  const std::string name(part.uses.size() >= kMost ? "" : name_space);
  return part.uses[name];
}

void Quotas::ForgetIdle(absl::Time now, Part& part) {
  // Looking at all of them costs.
  if (now < part.swept_at + absl::Seconds(1)) return;
  part.swept_at = now;
  for (auto at = part.uses.begin(); at != part.uses.end();) {
    const auto one = at++;
    const Use& use = one->second;
    if (use.full_at <= now && use.in_flight->load() == 0) part.uses.erase(one);
  }
}

std::optional<google::rpc::Status> TakeQuota(Quotas& quotas, absl::Time now, Request& request) {
  auto taken = quotas.Take(request.key.name_space, request.policy->quota, now);
  if (const auto* after = std::get_if<absl::Duration>(&taken))
    return ErrorOf(Refusal::kQuotaExceeded, *after);
  request.slot = std::get<ConcurrencySlot>(std::move(taken));
  return std::nullopt;
}

}  // namespace onced
