#include "server/rpc/unary_call.h"

namespace onced {

UnaryCall::UnaryCall(const Method& method, CallQueue& queue) : method_(method), queue_(queue) {
  queue_.Expect();
  if (method_.cancels) context_.AsyncNotifyWhenDone(ended_.tag());
  method_.request(&context_, &request_, &writer_, queue_.queue(), queue_.queue(), came_.tag());
}

// Not ok: the server is shut down, and none of the other events comes.
void UnaryCall::Came(bool ok) {
  if (!ok) {
    delete this;
    return;
  }
  Await(method_, queue_);
  if (method_.telemetry != nullptr) started_ = method_.telemetry->Started();
  open_ = method_.cancels ? 2 : 1;
  work_ = method_.begin(*this);
  request_.Clear();  // Not kept for as long as the call waits.
}

void UnaryCall::Ended(bool /*ok*/) {
  if (context_.IsCancelled()) work_->OnCancel();
  OneLess();
}

// Not ok: the caller has gone, which makes no difference any more.
void UnaryCall::Replied(bool /*ok*/) { OneLess(); }

void UnaryCall::OneLess() {
  if (--open_ == 0) delete this;
}

}  // namespace onced
