// A thread that state and functions can be bound to, so that clang checks at
// compile time who touches what.
#pragma once

#include <atomic>
#include <cstdlib>
#include <thread>

#include "absl/base/thread_annotations.h"

namespace onced {

// Not a lock: nothing ever waits for it. A lambda that runs on the thread
// starts with `AssertHeld()`, since clang checks each body by itself.
class ABSL_LOCKABLE ThreadRole {
 public:
  // Called once, first thing, by the thread that takes the role.
  void Adopt() ABSL_ASSERT_EXCLUSIVE_LOCK() { owner_.store(std::this_thread::get_id()); }

  // Dies if the caller is another thread; tells clang that it is not.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {
    if (owner_.load() != std::this_thread::get_id()) std::abort();
  }

 private:
  std::atomic<std::thread::id> owner_{};
};

}  // namespace onced

#define RUNS_ON(role) ABSL_EXCLUSIVE_LOCKS_REQUIRED(role)
#define OWNED_BY(role) ABSL_GUARDED_BY(role)
