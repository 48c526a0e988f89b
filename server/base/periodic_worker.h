// A thread that does the same thing again and again.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"

namespace onced {

// Threads:  the job runs on its own, never twice at once.
// Lifetime: what the job refers to outlives it. The destructor waits for a job that
//           runs, and for nothing else.
// Promise:  the first run begins after `interval`, each further one that long after
//           the end of the last.
class PeriodicWorker {
 public:
  PeriodicWorker(absl::Duration interval, std::function<void()> job);
  ~PeriodicWorker();
  PeriodicWorker(const PeriodicWorker&) = delete;
  PeriodicWorker& operator=(const PeriodicWorker&) = delete;

 private:
  void Run();
  bool AwaitNext() ABSL_LOCKS_EXCLUDED(mutex_);  // False: stopping.

  // Constant after construction.
  const absl::Duration interval_;
  const std::function<void()> job_;

  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread runner_;  // Last: starts once everything above exists.
};

}  // namespace onced
