#include "server/rpc/answer_worker.h"

#include <utility>

#include "server/base/thread_name.h"

namespace onced {

AnswerWorker::AnswerWorker() : runner_([this] { Work(); }) {}

AnswerWorker::~AnswerWorker() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  runner_.join();
}

bool AnswerWorker::TryTakePlace() {
  const MutexLock lock(mutex_);
  if (taken_ == kPlacesMax) return false;
  ++taken_;
  return true;
}

void AnswerWorker::Run(Job job) {
  const MutexLock lock(mutex_);
  jobs_.push_back(std::move(job));
  changed_.NotifyAll();
}

void AnswerWorker::Work() {
  NameThisThread("admin-answers");
  for (;;) {
    Job job;
    {
      const MutexLock lock(mutex_);
      while (jobs_.empty() && !stopping_) changed_.Wait(mutex_);
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
    const MutexLock lock(mutex_);
    --taken_;
  }
}

}  // namespace onced
