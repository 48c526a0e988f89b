// One thread, one mailbox, and nothing else: what a request means is
// ShardGroup's business.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/heartbeat.h"
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
// Limits:   queue_max waiting Reserves and Inspects, settle_queue_max others; of each, one
//           namespace may have a part. A round takes drain_max of them.
class ShardExecutor {
 public:
  struct Limits {
    std::size_t queue_max;
    std::size_t settle_queue_max;
    // A namespace may have one such part of either, so that its flood leaves the others
    // room. Namespaces whose hashes meet share it.
    std::size_t namespace_parts = 1;
    std::size_t drain_max = 1'024;
    // While the oldest has waited longer than that, or than a Reserve or Inspect has time,
    // it is refused: it would wait as long, and be answered to nobody. Zero: no such bound.
    absl::Duration queue_wait_max;
    // For an answer to Alive().
    std::chrono::nanoseconds patience = Heartbeat::kPatience;
  };

  ShardExecutor(Limits limits, ShardGroup& group, const Clock& clock, Store& store,
                Telemetry& telemetry);
  ~ShardExecutor();  // Executes what was accepted, ends all waits, and joins.

  // Refuses at once, through the requests' answers, those for which there is no
  // room, and Reserves once draining. Takes the others in their order. Those refused.
  std::vector<RequestId> Submit(std::vector<Request> requests) ABSL_LOCKS_EXCLUDED(mutex_);
  // The caller of this request, which was not refused at once, has gone. No effect if it
  // was answered already.
  void Cancel(RequestId id) ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on no grants are made; parked calls are answered soon. Returns at once.
  void StartDraining() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether its thread turns.
  bool Alive() ABSL_LOCKS_EXCLUDED(mutex_);

  // New work was refused for lack of room, and there isn't much yet.
  bool crowded() const { return crowded_.load(std::memory_order_relaxed); }
  // Or for lack of room in a namespace's part, of any.
  bool partly_crowded() const {
    return crowded() || crowded_count_.load(std::memory_order_relaxed) > 0;
  }
  // The same of one namespace's part.
  bool crowded(const std::string& name_space) const {
    return crowded_parts_[PartOf(name_space)].load(std::memory_order_relaxed);
  }
  std::size_t queue_depth() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  enum class Mode { kServing, kDraining, kStopping };

  void Run();
  // Blocks until there is something to do. False: stopping, and nothing is left.
  bool AwaitWork(absl::Time next_timer) RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  // As much as fits into a round. `drain` lends its memory to the mailbox.
  void TakeDrain(Drain& drain) RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  void Execute(Drain drain) RUNS_ON(thread_);
  // By a hash of the namespace: no memory that grows with names.
  static constexpr std::size_t kParts = 1'024;
  static std::uint32_t PartOf(const std::string& name_space);
  // Those that lie in one of the two queues.
  struct Queued {
    std::size_t all = 0;
    std::array<std::uint32_t, kParts> parts{};
  };
  // What one namespace may have of `room`. Rounded up: however little that is, each has some.
  std::size_t PartOf(std::size_t room) const {
    return (room + limits_.namespace_parts - 1) / limits_.namespace_parts;
  }
  // True: there is room for it, and it is counted.
  bool Admit(const Request& request, absl::Time now, Refusal& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Zero if there is none, or it doesn't matter.
  absl::Duration WaitOfOldest(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::size_t waiting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return mailbox_.requests.size() - taken_;
  }
  void SetCrowded(std::uint32_t part, bool crowded) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the first `count` of the mailbox to `to`.
  void TakeFirst(std::size_t count, std::vector<Request>& to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same of those that stay in it, and were cancelled.
  void TakeCancelled(Drain& to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  const Limits limits_;
  const Clock& clock_;
  Telemetry& telemetry_;

  // Shared.
  mutable Mutex mutex_;
  CondVar work_;
  Drain mailbox_ ABSL_GUARDED_BY(mutex_);
  std::size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;  // Of mailbox_.requests, the first: gone.
  Queued queued_ ABSL_GUARDED_BY(mutex_);          // Reserve, Inspect.
  Queued settling_ ABSL_GUARDED_BY(mutex_);        // The others.
  Mode mode_ ABSL_GUARDED_BY(mutex_) = Mode::kServing;

  Heartbeat heartbeat_;
  std::atomic<bool> crowded_{false};
  std::array<std::atomic<bool>, kParts> crowded_parts_{};
  std::atomic<int> crowded_count_{0};  // Of those.

  // The executor's thread only.
  ThreadRole thread_;
  ShardGroup& group_ OWNED_BY(thread_);
  MarkedClock marked_clock_ OWNED_BY(thread_);
  bool drain_seen_ OWNED_BY(thread_) = false;

  std::thread runner_;  // Last: starts once everything above exists.
};

}  // namespace onced
