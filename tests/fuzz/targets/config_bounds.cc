#include "tests/fuzz/targets/config_bounds.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "server/ledger/record.h"
#include "tests/fuzz/demand.h"

namespace onced::fuzz {
namespace {

void CheckOrder(const DurationBounds& bounds, absl::Duration min, absl::Duration max) {
  Demand(min <= bounds.min && bounds.max <= max, "leaves the bounds of all policies");
  Demand(bounds.min <= bounds.preset && bounds.preset <= bounds.max,
         "the default is out of bounds");
}

void CheckPolicy(const Policy& policy, const Config& config) {
  CheckOrder(policy.lease, limits::kLeaseMin, limits::kLeaseMax);
  CheckOrder(policy.retention, limits::kRetentionMin, limits::kRetentionMax);
  CheckOrder(policy.wait, absl::ZeroDuration(), limits::kWaitMax);
  Demand(policy.on_lapse == OnLapse::kRegrant || policy.on_lapse == OnLapse::kHold,
         "no such lapse");
  Demand(policy.body_bytes_max >= 0 && policy.body_bytes_max <= limits::kBodyBytesMax,
         "a body may be larger than any message");
  Demand(policy.lapsed_retention > config.restart_grace, "gone before its grace ends");
  Demand(policy.waiters_per_key_max <= 1'000'000 && policy.waiters_max <= 1'000'000, "waiters");
}

bool IsNamespace(const std::string& name) {
  return !name.empty() && name.size() <= limits::kNamespaceBytesMax &&
         absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

}  // namespace

void CheckBounds(const Config& config) {
  Demand(!config.data_dir.empty(), "no data directory");
  Demand(!config.shards.has_value() || (*config.shards >= 1 && *config.shards <= 256), "shards");
  Demand(config.executors <= 256, "executors");
  Demand(config.queue_max >= 1 && config.queue_max <= 1'000'000, "queue_max");
  Demand(config.settle_queue_max >= 1 && config.settle_queue_max <= 1'000'000, "settle_queue_max");
  Demand(config.memory_budget_bytes >= std::uint64_t{64} << 20, "memory_budget");
  for (const absl::Duration grace :
       {config.restart_grace, config.drain_window, config.shutdown_grace}) {
    Demand(grace >= absl::ZeroDuration() && grace <= absl::Hours(1), "a grace is out of bounds");
  }
  Demand(config.listen != config.http_listen || config.listen.port == 0, "one port for two");
  if (config.unlisted_policy.has_value()) CheckPolicy(*config.unlisted_policy, config);
  for (const auto& [name, policy] : config.namespaces) {
    Demand(IsNamespace(name), "no name of a namespace");
    CheckPolicy(policy, config);
  }
}

void CheckInvocation(const absl::StatusOr<Invocation>& invocation) {
  if (invocation.ok()) {
    if (const auto* config = std::get_if<Config>(&*invocation)) CheckBounds(*config);
    return;
  }
  const absl::string_view message = invocation.status().message();
  Demand(absl::IsInvalidArgument(invocation.status()), "refused as something else");
  Demand(!message.empty(), "refused without a word");
  Demand(std::all_of(message.begin(), message.end(),
                     [](char c) {
                       const auto byte = static_cast<unsigned char>(c);
                       return c == '\n' || (byte >= 0x20 && byte != 0x7f);
                     }),
         "what an operator is shown moves the cursor");
}

}  // namespace onced::fuzz
