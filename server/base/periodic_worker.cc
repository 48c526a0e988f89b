#include "server/base/periodic_worker.h"

#include <utility>

namespace onced {

PeriodicWorker::PeriodicWorker(absl::Duration interval, std::function<void()> job)
    : interval_(interval), job_(std::move(job)), runner_([this] { Run(); }) {}

PeriodicWorker::~PeriodicWorker() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  runner_.join();
}

void PeriodicWorker::Run() {
  while (AwaitNext()) job_();
}

bool PeriodicWorker::AwaitNext() {
  const Countdown pause(absl::ToChronoNanoseconds(interval_));
  const MutexLock lock(mutex_);
  while (!stopping_ && pause.rest() > std::chrono::nanoseconds(0)) {
    wake_.WaitFor(mutex_, pause.rest());
  }
  return !stopping_;
}

}  // namespace onced
