// What a drained queue of requests means to the shards that one executor owns.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "server/base/random.h"
#include "server/base/telemetry.h"
#include "server/ledger/decide.h"
#include "server/shard/request.h"
#include "server/shard/waiters.h"
#include "server/storage/store.h"

namespace onced {

// One drain: what arrived since the last one.
struct Drain {
  std::vector<Request> requests;     // In the order of arrival.
  std::vector<RequestId> cancelled;  // Whose callers have gone.
  bool draining = false;             // Grant nothing, end all waits.
};

// Operation: decides, writes, waits for the disk, answers; parks and wakes.
// Threads:   one at a time: tests and the simulation drive it without any.
//            Answers may come from the store's threads.
// Lifetime:  all that the constructor takes outlives it.
// Promise:   every request is answered exactly once, and none says more than what is
//            durable. When the destructor returns, all are answered but for those that
//            the store still has to tell of.
// Limits:    waiters, by the policies. Once a write has failed, everything is
//            refused: nobody knows what is on the disk.
class ShardGroup {
 public:
  ShardGroup(Store& store, Random& random, WaiterCount& waiter_count, Telemetry& telemetry);
  ~ShardGroup();

  // Judges everything by the one `now`, which must not be above the store's
  // clock mark and never be less than at the call before.
  void Execute(Drain drain, absl::Time now);
  // Answers everything and every waiter with `reason`; nothing is judged.
  void Refuse(Drain drain, absl::Time now, Refusal reason);

  // When Execute() has something to do even if nothing arrives.
  absl::Time NextTimer() const { return waiters_.NextTimer(); }
  bool failed() const { return failed_->load(); }

 private:
  class Round;

  // Constant after construction.
  Store& store_;
  Random& random_;
  Telemetry& telemetry_;
  // Shared: the store may tell of a failure after the group has gone.
  const std::shared_ptr<std::atomic<bool>> failed_;

  // The caller's thread.
  Waiters waiters_;
  // `now` is the last drain's; the rest is the store's, and constant.
  View view_;
};

}  // namespace onced
