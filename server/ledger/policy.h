// What a namespace allows, and the bounds that no policy may leave.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/namespace_id.h"

namespace onced {

// Section 5 of docs/protocol.md; every request is checked against these before
// anything is queued.
namespace limits {
inline constexpr std::size_t kNamespaceBytesMax = 64;
inline constexpr std::size_t kKeyBytesMax = 256;
inline constexpr std::size_t kFingerprintBytesMax = 128;
inline constexpr std::size_t kOwnerBytesMax = 128;
inline constexpr std::size_t kRequestIdBytesMax = 64;
inline constexpr std::size_t kTokenBytesMax = 128;
inline constexpr std::size_t kCheckpointBytesMax = 64 << 10;
inline constexpr std::size_t kHeadersMax = 64;
inline constexpr std::size_t kHeaderBytesMax = 16 << 10;  // Names and values together.
inline constexpr std::size_t kBatchOperationsMax = 1024;
inline constexpr std::size_t kMessageBytesMax = 4 << 20;
inline constexpr std::int64_t kBodyBytesMax = 3 << 20;
inline constexpr absl::Duration kLeaseMin = absl::Milliseconds(100);
inline constexpr absl::Duration kLeaseMax = absl::Hours(24);
inline constexpr absl::Duration kRetentionMin = absl::Seconds(1);
inline constexpr absl::Duration kRetentionMax = absl::Hours(24 * 400);
inline constexpr absl::Duration kWaitMax = absl::Seconds(60);
// Of a restore: above a larger one, fences would have too little room to grow.
inline constexpr std::int64_t kFenceFloorMax = std::numeric_limits<std::int64_t>::max() / 2;
}  // namespace limits

// What becomes of a reservation whose lease ran out. Stored: never renumber.
enum class OnLapse : std::uint8_t {
  kRegrant = 1,  // The next caller takes over.
  kHold = 2,     // Nobody does until a late commit or an operator settles it.
};

// A duration that callers may give: where it may lie, and what holds if they
// give none. `min <= preset <= max`.
struct DurationBounds {
  absl::Duration min;
  absl::Duration max;
  absl::Duration preset;
  bool operator==(const DurationBounds&) const = default;
};

// What a namespace's Reserves and Inspects may take; 0: no limit.
struct Quota {
  std::uint64_t rate = 0;         // Operations a second, over time.
  std::uint64_t burst = 0;        // At once, after a rest; 0: a second's worth.
  std::uint64_t concurrency = 0;  // In flight; those that are parked don't count.
  bool operator==(const Quota&) const = default;
};

// The defaults are those of a namespace that no configuration speaks of.
struct Policy {
  DurationBounds lease{limits::kLeaseMin, limits::kLeaseMax, absl::Minutes(2)};
  DurationBounds retention{limits::kRetentionMin, limits::kRetentionMax, absl::Hours(24)};
  DurationBounds wait{absl::ZeroDuration(), limits::kWaitMax, absl::ZeroDuration()};
  OnLapse on_lapse = OnLapse::kRegrant;
  // How long a lapsed reservation is kept under kRegrant.
  absl::Duration lapsed_retention = absl::Hours(24);
  // Of a stored body; at most limits::kBodyBytesMax.
  std::int64_t body_bytes_max = 1 << 20;
  // Parked calls; over either, a Reserve that would wait is a CONFLICT at once.
  std::size_t waiters_per_key_max = 1'000;
  std::size_t waiters_max = 10'000;
  // Which of the listed namespaces it is of, as the metrics have it: PolicyTable says.
  NamespaceId listed_as;
  Quota quota;
  bool operator==(const Policy&) const = default;
};

// The policy of every namespace.
// Threads:  constant after construction; reads from any thread.
// Lifetime: pointers it returns live as long as it does.
class PolicyTable {
 public:
  // `unlisted` is the policy of namespaces that `listed` does not name; nullopt
  // if those may not be used.
  PolicyTable(absl::flat_hash_map<std::string, Policy> listed, std::optional<Policy> unlisted)
      : listed_(Numbered(std::move(listed))), unlisted_(std::move(unlisted)) {}

  // Those that are listed, by their NamespaceIds, of which the first is 1.
  std::vector<std::string> Names() const { return SortedNames(listed_); }

  // nullptr if the namespace may not be used.
  const Policy* Find(absl::string_view name_space) const {
    const auto found = listed_.find(name_space);
    if (found != listed_.end()) return &found->second;
    return unlisted_.has_value() ? &*unlisted_ : nullptr;
  }

 private:
  using Listed = absl::flat_hash_map<std::string, Policy>;

  static std::vector<std::string> SortedNames(const Listed& listed) {
    std::vector<std::string> names;
    for (const auto& [name, policy] : listed) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
  }
  static Listed Numbered(Listed listed) {
    NamespaceId last;
    for (const std::string& name : SortedNames(listed)) listed[name].listed_as = {++last.value};
    return listed;
  }

  const Listed listed_;
  const std::optional<Policy> unlisted_;
};

}  // namespace onced
