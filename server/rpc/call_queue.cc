#include "server/rpc/call_queue.h"

#include <utility>

#include "server/base/thread_name.h"

namespace onced {

CallQueue::~CallQueue() {
  Join();
  if (started_) return;
  // As when the address is taken.
  queue_->Shutdown();
  void* event = nullptr;
  bool ok = false;
  while (queue_->Next(&event, &ok)) {
  }
}

void CallQueue::Start(Accept accept) {
  started_ = true;
  runner_ = std::thread([this, accept = std::move(accept)] { Run(accept); });
}

void CallQueue::Join() {
  if (runner_.joinable()) runner_.join();
}

void CallQueue::Run(const Accept& accept) {
  thread_.Adopt();
  NameThisThread("calls");
  accept(*this);
  void* event = nullptr;
  bool ok = false;
  while (queue_->Next(&event, &ok)) {
    static_cast<Event*>(event)->Happened(ok);
    // Nothing may be begun on a queue that is shut down: so it is who would begin it
    // that does that, when there is nobody left.
    if (expected_ == 0) queue_->Shutdown();
  }
}

}  // namespace onced
