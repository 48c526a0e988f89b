// Whether the process is worth keeping.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "server/base/mutex.h"

namespace onced {

// Threads:  any.
// Lifetime: what the questions refer to lives until End().
class Liveness {
 public:
  using Question = std::function<absl::Status()>;  // Answers at once.

  void Watch(Question question) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    questions_.push_back(std::move(question));
  }
  // Nothing is asked any more: what ends may hang, and whoever waits for its end sees to
  // that. When it returns, no question is being answered.
  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    questions_.clear();
  }
  // The first that is not OK.
  absl::Status Ask() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    for (const Question& question : questions_) {
      if (absl::Status answer = question(); !answer.ok()) return answer;
    }
    return absl::OkStatus();
  }

 private:
  mutable Mutex mutex_;
  std::vector<Question> questions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
