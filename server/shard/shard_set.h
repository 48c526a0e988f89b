// All shards: routes each request to the thread that owns its key.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/base/clock.h"
#include "server/base/telemetry.h"
#include "server/shard/request.h"
#include "server/shard/shard_executor.h"
#include "server/shard/shard_group.h"
#include "server/shard/shard_map.h"
#include "server/shard/waiters.h"
#include "server/storage/store.h"

namespace onced {

// Threads:  any.
// Lifetime: all that the constructor takes outlives it.
// Promise:  requests for one key that are submitted one after the other are executed
//           in that order. Every one is answered exactly once.
class ShardSet {
 public:
  struct Options {
    std::size_t executors = 1;  // At most the store's shards; fewer are started else.
    ShardExecutor::Limits limits{.queue_max = 10'000, .settle_queue_max = 10'000};
  };

  ShardSet(const Options& options, Store& store, const Clock& clock, Telemetry& telemetry);
  ~ShardSet();

  // Where a submitted request can be cancelled; nowhere, if it was refused at once.
  struct Ticket {
    std::size_t executor = 0;
    RequestId id;
  };

  // May call `request.answer` before it returns.
  Ticket Submit(Request request);
  // The tickets of those that may wait, in their order.
  std::vector<Ticket> Submit(std::vector<Request> requests);
  // The caller has gone: a parked request is given nothing any more.
  void Cancel(Ticket ticket);
  // No grants from now on; all parked calls are answered soon. What settles a
  // reservation still works.
  void StartDraining();

  // Whether every executor's thread turns.
  bool Alive();

  // An executor has no room for new work: whoever takes in more of it has to refuse it.
  bool Crowded() const;
  // Or none for a namespace's, of any.
  bool PartlyCrowded() const;
  // The same of one namespace.
  bool Crowded(const std::string& name_space) const;

  std::size_t executor_count() const { return executors_.size(); }
  std::size_t queue_depth(std::size_t executor) const;
  std::size_t waiters() const { return waiter_count_.total(); }
  absl::Time Now() const { return clock_.Now(); }

 private:
  // Bottom up: a group is used by its executor alone.
  struct Executor {
    SystemRandom random;
    ShardGroup group;
    ShardExecutor thread;
    Executor(const Options& options, Store& store, const Clock& clock, Telemetry& telemetry,
             WaiterCount& waiter_count);
  };

  // Names the request and its shard; the index of the executor that owns it.
  std::size_t Route(Request& request);

  // Constant after construction.
  const Clock& clock_;
  const ShardMap map_;

  // Shared.
  std::atomic<std::uint64_t> last_id_{0};
  WaiterCount waiter_count_;

  // Constant after construction. Last: their threads use what is above.
  std::vector<std::unique_ptr<Executor>> executors_;
};

}  // namespace onced
