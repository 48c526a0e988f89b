// std::mutex with the annotations that clang's thread safety analysis needs.
//
// absl::Mutex is not used in this project: the packaged Abseil is not
// instrumented, so ThreadSanitizer reports races that do not exist.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace onced {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Runs out on the monotonic clock.
class Countdown {
 public:
  explicit Countdown(std::chrono::nanoseconds length)
      : end_(std::chrono::steady_clock::now() + length) {}
  // Not positive once it has run out.
  std::chrono::nanoseconds rest() const { return end_ - std::chrono::steady_clock::now(); }

 private:
  const std::chrono::steady_clock::time_point end_;
};

// Waits may end early; callers loop over their condition.
class CondVar {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();  // Ignored: the caller goes on holding it.
  }
  // Returns at the latest after `timeout`, measured by the monotonic clock.
  void WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    // wait_until, not wait_for: the latter adds to a time that may overflow.
    condition_.wait_until(lock, std::chrono::steady_clock::now() + timeout);
    lock.release();  // Ignored: the caller goes on holding it.
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace onced
