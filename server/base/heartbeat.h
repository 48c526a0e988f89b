// Whether a thread still turns.
#pragma once

#include <chrono>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "server/base/mutex.h"

namespace onced {

// Whoever wants to know asks, and sees that the thread is woken; the thread answers
// when it comes by. An answer that stays away for `patience` means that it hangs.
//
// Threads: any.
class Heartbeat {
 public:
  // Longer than any stall of a disk that ends by itself.
  static constexpr std::chrono::seconds kPatience{30};

  explicit Heartbeat(std::chrono::nanoseconds patience = kPatience) : patience_(patience) {}

  // Asks anew if it was answered; then calls `wake`.
  bool Alive(absl::FunctionRef<void()> wake) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (asked_.has_value()) return asked_->rest().count() > 0;
      asked_.emplace(patience_);
    }
    wake();
    return true;
  }
  // The thread comes by.
  void Beat() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    asked_.reset();
  }

 private:
  // Constant after construction.
  const std::chrono::nanoseconds patience_;

  // Shared.
  Mutex mutex_;
  std::optional<Countdown> asked_ ABSL_GUARDED_BY(mutex_);  // And not yet answered.
};

}  // namespace onced
