// The parked calls of some shards.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/ledger/record.h"
#include "server/shard/request.h"

namespace onced {

// How many calls of each namespace are parked, over all executors.
// Threads: any.
class WaiterCount {
 public:
  // False, and nothing is counted, if the namespace already has `max`.
  bool TryAdd(const std::string& name_space, std::size_t max) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(const std::string& name_space) ABSL_LOCKS_EXCLUDED(mutex_);
  std::size_t total() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Shared.
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::size_t> by_namespace_ ABSL_GUARDED_BY(mutex_);
  std::size_t total_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A Reserve that waits for its key's holder, with what it takes to judge it again.
struct Waiter {
  Request request;
  absl::Time parked_at;
  absl::Time wait_until;
};

// Queues by key, and two kinds of timers over them: when a wait is over, and
// when a waited-for lease ends.
//
// Threads:  one at a time.
// Lifetime: `count` must outlive it.
// Promise:  the waiters of a key are kept in the order in which they came.
// Limits:   as the policies say: waiters of a key, waiters of a namespace.
class Waiters {
 public:
  explicit Waiters(WaiterCount& count) : count_(count) {}
  ~Waiters();

  // False, and `waiter` is untouched, if there are too many already.
  bool Park(Waiter& waiter, absl::Time lease_end);
  // nullopt if it isn't parked (any more).
  std::optional<Waiter> Take(RequestId id);

  bool Has(const RecordKey& key) const { return by_key_.contains(key); }
  // The longest waiting first. Ids, since taking one changes the queue.
  std::vector<RequestId> Of(const RecordKey& key) const;
  const Waiter* Find(RequestId id) const;
  std::vector<RequestId> All() const;
  // When the holder's lease ends now; no effect on a key without waiters.
  void SetLeaseEnd(const RecordKey& key, absl::Time lease_end);

  // Keys whose holder's lease has ended, and waiters whose wait has.
  std::vector<RecordKey> Lapsed(absl::Time now) const;
  std::vector<RequestId> Over(absl::Time now) const;
  // The next time at which either of these has something new; InfiniteFuture if
  // there are no waiters.
  absl::Time NextTimer() const;

 private:
  struct Queue {
    std::deque<RequestId> ids;
    absl::Time lease_end;
  };

  WaiterCount& count_;
  absl::flat_hash_map<RequestId, Waiter> waiters_;
  absl::flat_hash_map<RecordKey, Queue> by_key_;
  absl::btree_set<std::pair<absl::Time, RequestId>> wait_timers_;
  // std::set, of which nodes don't move: keys are long.
  std::set<std::pair<absl::Time, std::pair<std::string, std::string>>> lease_timers_;
};

}  // namespace onced
