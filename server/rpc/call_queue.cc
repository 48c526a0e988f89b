#include "server/rpc/call_queue.h"

#include <chrono>
#include <utility>

#include "server/base/thread_name.h"

namespace onced {
namespace {

// Between two looks at a queue with few callers.
constexpr std::chrono::milliseconds kRest{20};

}  // namespace

CallQueue::~CallQueue() {
  Join();
  if (!started_) End();  // As when the address is taken.
}

void CallQueue::Start(Accept accept) {
  runner_ = std::thread([this, accept = std::move(accept)] { Run(accept); });
  started_ = true;
}

void CallQueue::Hasten() {
  const MutexLock lock(mutex_);
  haste_ = true;
  hastened_.NotifyOne();
}

void CallQueue::Join() {
  Hasten();
  if (runner_.joinable()) runner_.join();
}

void CallQueue::Run(const Accept& accept) {
  thread_.Adopt();
  NameThisThread("calls");
  accept(*this);
  void* event = nullptr;
  bool ok = false;
  while (expected_ > 0 && Next(&event, &ok)) static_cast<Event*>(event)->Happened(ok);
  // Nothing may be begun on a queue that is shut down: so that is done by who would
  // begin it, when there is nobody left.
  End();
}

void CallQueue::End() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    queue_->Shutdown();
  }
  void* event = nullptr;
  bool ok = false;
  while (queue_->Next(&event, &ok)) {  // gRPC's own events, of which it doesn't tell.
  }
}

bool CallQueue::Alive() {
  const bool alive = heartbeat_.Alive([this] { Knock(); });
  const MutexLock lock(mutex_);
  return alive || ended_;
}

void CallQueue::Knock() {
  const MutexLock lock(mutex_);
  if (!ended_) alarm_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), beat_.tag());
}

bool CallQueue::Next(void** event, bool* ok) {
  using Status = grpc::CompletionQueue::NextStatus;
  while (looks_) {
    const Status status = queue_->AsyncNext(event, ok, gpr_time_0(GPR_CLOCK_MONOTONIC));
    if (status != Status::TIMEOUT) return status == Status::GOT_EVENT;
    looks_ = !Rest();
  }
  return queue_->Next(event, ok);
}

bool CallQueue::Rest() {
  const MutexLock lock(mutex_);
  if (!haste_) hastened_.WaitFor(mutex_, kRest);
  return haste_;
}

}  // namespace onced
