// What namespaces have used of their quotas.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"
#include "server/base/mutex.h"
#include "server/ledger/policy.h"
#include "server/shard/request.h"

namespace onced {

// Operation: a bucket of tokens a namespace, `quota.rate` a second, `quota.burst` at
//            most; and a count of what is in flight.
// Threads:   any. A namespace without a quota costs nothing; others share a few locks.
// Limits:    kNamespacesMax are remembered; those whose bucket is full and that have nothing
//            in flight needn't be. Beyond that, namespaces share.
class Quotas {
 public:
  static constexpr std::size_t kNamespacesMax = 65'536;

  // For one operation: a slot, until it is over; or when there will be room.
  std::variant<ConcurrencySlot, absl::Duration> Take(absl::string_view name_space,
                                                     const Quota& quota, absl::Time now);

 private:
  static constexpr std::size_t kParts = 16;
  // What RetryInfo says where nobody knows when: somebody has to be answered first.
  static constexpr absl::Duration kSoon = absl::Milliseconds(100);

  struct Use {
    // When the bucket will be full: each token moves it.
    absl::Time full_at = absl::InfinitePast();
    // Shared with the slots: the last answer may outlive all else.
    std::shared_ptr<std::atomic<std::size_t>> in_flight =
        std::make_shared<std::atomic<std::size_t>>(0);
  };
  struct Part {
    Mutex mutex;
    absl::flat_hash_map<std::string, Use> uses ABSL_GUARDED_BY(mutex);
    absl::Time swept_at ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
  };

  // That of the namespace, or of all for which there is no room.
  static Use& UseOf(absl::string_view name_space, absl::Time now, Part& part)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(part.mutex);
  static void ForgetIdle(absl::Time now, Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(part.mutex);

  std::array<Part, kParts> parts_;
};

// Gives the request its slot, or says why it gets none. Not of one that settles.
std::optional<google::rpc::Status> TakeQuota(Quotas& quotas, absl::Time now, Request& request);

}  // namespace onced
