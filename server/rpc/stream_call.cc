#include "server/rpc/stream_call.h"

namespace onced {

StreamCall::StreamCall(const Method& method, CallQueue& queue) : method_(method), queue_(queue) {
  queue_.Expect();
  context_.AsyncNotifyWhenDone(ended_.tag());
  method_.request(&context_, &stream_, queue_.queue(), queue_.queue(), came_.tag());
}

// Not ok: the server is shut down, and none of the other events comes.
void StreamCall::Came(bool ok) {
  if (!ok) {
    delete this;
    return;
  }
  Await(method_, queue_);
  if (method_.telemetry != nullptr) started_ = method_.telemetry->Started();
  // What is started here is heard of on this thread, so not before it is there.
  work_ = method_.begin(*this);
}

void StreamCall::Read(bool ok) {
  if (ok && method_.telemetry != nullptr) method_.telemetry->Received();
  work_->OnReadDone(ok);
  OneLess();
}

void StreamCall::Written(bool ok) {
  if (ok && method_.telemetry != nullptr) method_.telemetry->Sent();
  work_->OnWriteDone(ok);
  OneLess();
}

// Not ok: the caller has gone, which makes no difference any more.
void StreamCall::Finished(bool /*ok*/) { OneLess(); }

void StreamCall::Ended(bool /*ok*/) {
  if (context_.IsCancelled()) work_->OnCancel();
  OneLess();
}

void StreamCall::OneLess() {
  if (open_.fetch_sub(1) == 1) delete this;
}

}  // namespace onced
