#include "server/rpc/unary_call.h"

#include <grpcpp/alarm.h>

#include "server/rpc/call.h"

namespace onced {
namespace {

// What calls have left that may be left waiting: half of what a caller who is in a hurry
// gives them.
constexpr absl::Duration kTimeToWait = absl::Milliseconds(250);

}  // namespace

// Asks for the next call after a millisecond.
class UnaryCall::Pause final : public CallQueue::Event {
 public:
  Pause(const Method& method, CallQueue& queue) : method_(method), queue_(queue) {
    queue_.Expect();
    alarm_.Set(queue_.queue(), gpr_time_from_millis(1, GPR_TIMESPAN), tag());
  }
  ~Pause() { queue_.ExpectNoMore(); }
  void Happened(bool /*ok*/) override {
    Await(method_, queue_);
    delete this;
  }

 private:
  const Method& method_;
  CallQueue& queue_;
  grpc::Alarm alarm_;
};

UnaryCall::UnaryCall(const Method& method, CallQueue& queue, int crowded)
    : method_(method), queue_(queue), crowded_(crowded) {
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
  AwaitNext();
  if (method_.telemetry != nullptr) started_ = method_.telemetry->Started();
  open_ = method_.cancels ? 2 : 1;
  work_ = method_.begin(*this);
  request_.Clear();  // Not kept for as long as the call waits.
}

void UnaryCall::AwaitNext() const {
  if (!method_.crowded || !method_.crowded() || !HasTimeToWait()) return Await(method_, queue_);
  if (crowded_ + 1 >= method_.crowded_max) {
    new Pause(method_, queue_);
  } else {
    new UnaryCall(method_, queue_, crowded_ + 1);
  }
}

bool UnaryCall::HasTimeToWait() const {
  const absl::Time now = absl::UnixEpoch();  // Any: what is left doesn't depend on it.
  return DeadlineOf(context_, now) - now >= kTimeToWait;
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
