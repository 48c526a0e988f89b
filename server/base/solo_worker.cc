#include "server/base/solo_worker.h"

#include <utility>

namespace onced {

SoloWorker::SoloWorker() : runner_([this] { Run(); }) {}

SoloWorker::~SoloWorker() {
  Stop();
  runner_.join();
}

SoloWorker::Taken SoloWorker::TryRun(Job job) {
  MutexLock lock(mutex_);
  if (stopping_) return Taken::kStopping;
  if (job_) return Taken::kBusy;
  job_ = std::move(job);
  changed_.NotifyAll();
  return Taken::kYes;
}

void SoloWorker::RequestStop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

void SoloWorker::Stop() {
  RequestStop();
  MutexLock lock(mutex_);
  while (job_) changed_.Wait(mutex_);
}

void SoloWorker::Run() {
  for (;;) {
    Job job;
    {
      MutexLock lock(mutex_);
      while (!job_ && !stopping_) changed_.Wait(mutex_);
      if (!job_) return;
      job = job_;  // Kept there as well: that is what says that one runs.
    }
    job();
    MutexLock lock(mutex_);
    job_ = nullptr;
    changed_.NotifyAll();
  }
}

}  // namespace onced
