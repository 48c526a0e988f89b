// A thread for work that is too long for anybody else's.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace onced {

// Operation: runs one job at a time. Its mailbox has room for that job alone:
//            while it runs, others are refused.
// Threads:   all from any, but Stop() not from a job.
// Promise:   every accepted job runs to its end exactly once, also when
//            stopping.
class SoloWorker {
 public:
  using Job = std::function<void()>;
  enum class Taken : std::uint8_t { kYes, kBusy, kStopping };

  SoloWorker();
  ~SoloWorker();  // Stops.

  Taken TryRun(Job job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes no job any more. Does not wait for the one that runs.
  void RequestStop() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, and returns once none runs.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  Job job_ ABSL_GUARDED_BY(mutex_);  // Empty: none.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread runner_;  // Last: starts once everything above exists.
};

}  // namespace onced
