#include "server/storage/rocksdb/pacer.h"

#include <algorithm>

namespace onced {

void Pacer::SetRate(std::uint64_t bytes_per_second) {
  MutexLock lock(mutex_);
  rate_ = bytes_per_second;
}

void Pacer::Spend(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (rate_ == 0 || rushing_ || stopped_) return;
  const std::chrono::duration<double> costs(static_cast<double>(bytes) /
                                            static_cast<double>(rate_));
  paid_at_ = std::max(paid_at_, -started_.rest()) +
             std::chrono::duration_cast<std::chrono::nanoseconds>(costs);
  if (paid_at_ + started_.rest() < kTick) return;
  const std::chrono::nanoseconds until = paid_at_;
  while (!rushing_ && !stopped_ && until + started_.rest() > std::chrono::nanoseconds(0)) {
    let_go_.WaitFor(mutex_, until + started_.rest());
  }
}

void Pacer::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  let_go_.NotifyAll();
}

void Pacer::Rush(bool rush) {
  MutexLock lock(mutex_);
  rushing_ = rush;
  if (rush) let_go_.NotifyAll();
}

}  // namespace onced
