// A thread that ends calls for threads that must not wait.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace onced {

// Operation: whoever begins a call takes a place for its end; the end is run on the worker's
//            own thread, in the order in which they come. So Run() needs neither to wait
//            nor to refuse, however slow the ends before it are.
// Threads:   all from any.
// Promise:   what was given to Run() is run exactly once, at the latest by the
//            destructor.
// Limits:    kPlacesMax calls that haven't ended.
class AnswerWorker {
 public:
  using Job = std::function<void()>;
  static constexpr std::size_t kPlacesMax = 256;

  AnswerWorker();
  ~AnswerWorker();

  // False: there is none left.
  bool TryTakePlace() ABSL_LOCKS_EXCLUDED(mutex_);
  // Once for each place, which is free again when `job` has been run. Does not block.
  void Run(Job job) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work();

  Mutex mutex_;
  CondVar changed_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  std::size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread runner_;  // Last: starts once everything above exists.
};

}  // namespace onced
