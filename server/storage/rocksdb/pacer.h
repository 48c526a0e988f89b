// Keeps work in the background from taking the disk and a core to itself.
#pragma once

#include <chrono>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace onced {

// Threads: any; several that spend at once share the rate.
// Promise: over any stretch of time no more is spent than the rate allows, and a
//          tick's worth. What was not spent is not saved up.
class Pacer {
 public:
  // No limit until this is called.
  void SetRate(std::uint64_t bytes_per_second) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when these bytes may have been spent.
  void Spend(std::uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody waits while this is so: others would have to wait for them.
  void Rush(bool rush) ABSL_LOCKS_EXCLUDED(mutex_);
  // For ever: nobody waits any more.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Shorter waits cost more than they even out.
  static constexpr std::chrono::milliseconds kTick{5};

  const Countdown started_{std::chrono::nanoseconds(0)};
  Mutex mutex_;
  CondVar let_go_;
  std::uint64_t rate_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: no limit.
  bool rushing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // When, since started_, all that was spent has been paid for.
  std::chrono::nanoseconds paid_at_ ABSL_GUARDED_BY(mutex_){0};
};

}  // namespace onced
