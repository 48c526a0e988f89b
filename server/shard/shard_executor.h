// One thread, one mailbox, and nothing else: what a request means is
// ShardGroup's business.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/base/telemetry.h"
#include "server/base/thread_role.h"
#include "server/shard/marked_clock.h"
#include "server/shard/request.h"
#include "server/shard/shard_group.h"

namespace onced {

// Threads:  what is marked RUNS_ON runs on this executor's own thread and takes
//           no lock; all else may be called from any thread.
// Lifetime: all that the constructor takes outlives it.
// Promise:  every request is answered exactly once. When the destructor returns, all
//           are executed, and answered but for those that the store still has to tell of.
// Limits:   queue_max waiting Reserves and Inspects, settle_queue_max others.
class ShardExecutor {
 public:
  struct Limits {
    std::size_t queue_max;
    std::size_t settle_queue_max;
  };

  ShardExecutor(Limits limits, ShardGroup& group, const Clock& clock, Store& store,
                Telemetry& telemetry);
  ~ShardExecutor();  // Executes what was accepted, ends all waits, and joins.

  // Refuses at once, through the requests' answers, those for which there is no
  // room, and Reserves once draining. Takes the others in their order.
  void Submit(std::vector<Request> requests) ABSL_LOCKS_EXCLUDED(mutex_);
  // The caller of this request has gone. No effect if it was answered already.
  void Cancel(RequestId id) ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on no grants are made; parked calls are answered soon. Returns at once.
  void StartDraining() ABSL_LOCKS_EXCLUDED(mutex_);

  std::size_t queue_depth() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  enum class Mode { kServing, kDraining, kStopping };

  void Run();
  // Blocks until there is something to do. False: stopping, and nothing is left.
  bool AwaitWork(absl::Time next_timer) RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  // `drain` lends its memory to the mailbox.
  void TakeDrain(Drain& drain) RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  void Execute(Drain drain) RUNS_ON(thread_);
  // OK: there is room for it, and it is counted.
  bool Admit(const Request& request, Refusal& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  const Limits limits_;
  const Clock& clock_;
  Telemetry& telemetry_;

  // Shared.
  mutable Mutex mutex_;
  CondVar work_;
  Drain mailbox_ ABSL_GUARDED_BY(mutex_);
  std::size_t queued_ ABSL_GUARDED_BY(mutex_) = 0;    // Of mailbox_: Reserve, Inspect.
  std::size_t settling_ ABSL_GUARDED_BY(mutex_) = 0;  // Of mailbox_: the others.
  Mode mode_ ABSL_GUARDED_BY(mutex_) = Mode::kServing;

  // The executor's thread only.
  ThreadRole thread_;
  ShardGroup& group_ OWNED_BY(thread_);
  MarkedClock marked_clock_ OWNED_BY(thread_);
  bool drain_seen_ OWNED_BY(thread_) = false;

  std::thread runner_;  // Last: starts once everything above exists.
};

}  // namespace onced
