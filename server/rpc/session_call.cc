#include "server/rpc/session_call.h"

#include <optional>
#include <utility>

#include "server/base/check.h"
#include "server/rpc/errors.h"
#include "server/rpc/wire.h"

namespace onced {

namespace v1 = idempotency::v1;

void SessionCall::Start() {
  const bool opens = service_.sessions.Add(*this);
  if (!Hold()) return;  // Ended already, by EndAll().
  if (!opens) return End();
  if (const auto* stranger = std::get_if<google::rpc::Status>(&caller_)) {
    Fail(*stranger);
  } else if (!bytes_.TryTake(ByteBudget::kCallBytes, BytesFor::kNewWork)) {
    Fail(ErrorOf(Refused{Refusal::kMemoryFull}));  // What settles can do so by itself.
  }
  Proceed();
}

void SessionCall::End() {
  {
    const MutexLock lock(mutex_);
    Stop(ToGrpc(ErrorOf(Refused{Refusal::kDraining})));
  }
  Proceed();
}

void SessionCall::OnReadDone(bool ok) {
  bool takes = false;
  {
    const MutexLock lock(mutex_);
    if (!flow_.Enter()) return;
    takes = ok && !flow_.stopped();
    if (!ok) Stop(grpc::Status::OK);  // The half-close; or OnCancel() comes, too.
  }
  if (takes) Take(request_);
  request_.Clear();
  {
    const MutexLock lock(mutex_);
    flow_.ReadHandled();
  }
  Proceed();
}

void SessionCall::OnWriteDone(bool ok) {
  Unsent sent;
  std::vector<ShardSet::Ticket> cancelled;
  {
    const MutexLock lock(mutex_);
    if (!flow_.Enter()) return;
    sent.Swap(unsent_.front());
    unsent_.pop_front();
    flow_.Wrote(sent.load, sent.bytes.Length());
    if (!ok) cancelled = Abandon();
  }
  Cancel(cancelled);
  Proceed();
}

void SessionCall::OnCancel() {
  std::vector<ShardSet::Ticket> cancelled;
  {
    const MutexLock lock(mutex_);
    if (!flow_.Enter()) return;
    cancelled = Abandon();
  }
  Cancel(cancelled);
  Proceed();
}

void SessionCall::Take(const grpc::ByteBuffer& bytes) {
  const auto stranger = service_.authenticator.Recheck(call_.context(), std::get<Caller>(caller_));
  if (stranger.has_value()) return Fail(*stranger);
  v1::SessionRequest request;
  const auto violation = ParseBounded(bytes, request);
  if (!violation.has_value()) {
    const auto operations = static_cast<std::size_t>(request.operations_size());
    return Execute(request, {.messages = 1, .operations = operations, .bytes = bytes.Length()});
  }
  Fail(ErrorOf(*violation));
}

void SessionCall::Fail(const google::rpc::Status& error) {
  CallMeter(Method::kSession, service_.shards, service_.telemetry)
      .Failed(error, absl::ZeroDuration());
  const MutexLock lock(mutex_);
  Stop(ToGrpc(error));
}

void SessionCall::Execute(const v1::SessionRequest& request, const SessionLoad& load) {
  CallTrace trace(service_.tracer, trace_context_, Method::kSession, service_.shards);
  auto owned = std::make_unique<Message>(request.id(), load, service_, std::move(trace));
  Message* message = owned.get();
  BatchRun::Waiting waiting{.share = &share_};
  {
    const MutexLock lock(mutex_);
    flow_.Began(load);
    waiting.may_park = flow_.MayWait(load);
    executing_.emplace(message, std::move(owned));
  }
  if (const auto error = BatchRun::CheckSize(request.operations())) return Refuse(*message, *error);
  const std::size_t bytes =
      ByteBudget::kCallBytes + load.bytes + load.operations * ByteBudget::kOperationBytes;
  const BytesFor use = BatchRun::UseOf(request.operations());
  if (!message->bytes->TryTake(bytes, use))
    return Refuse(*message, ErrorOf(Refused{Refusal::kMemoryFull}));
  message->run.Check(request.operations(), Validator(service_.policies, std::get<Caller>(caller_)),
                     deadline_, service_.quotas, waiting);
  if (message->run.may_wait()) {
    const MutexLock lock(mutex_);
    flow_.Waits(load);
    message->waits = true;
  }
  // From here on it may be gone; but no other one is made before this read is handled.
  Waits(message, message->run.Submit([this, message] { Answered(*message); }));
}

void SessionCall::Refuse(Message& message, const google::rpc::Status& error) {
  message.run.Refused(error);
  v1::SessionResponse response;
  *response.mutable_error() = error;
  Send(message, std::move(response));
}

void SessionCall::Waits(const Message* message, std::vector<ShardSet::Ticket> tickets) {
  if (tickets.empty()) return;
  {
    const MutexLock lock(mutex_);
    const auto found = executing_.find(message);
    if (found == executing_.end()) return;
    if (!flow_.abandoned()) {
      found->second->tickets = std::move(tickets);
      return;
    }
  }
  Cancel(tickets);
}

void SessionCall::Answered(Message& message) {
  message.run.Count();
  std::size_t large_bytes_max = 0;
  bool abandoned = false;
  {
    const MutexLock lock(mutex_);
    abandoned = flow_.abandoned();
    large_bytes_max = flow_.LargeBytesMax();
  }
  if (abandoned) return Send(message, {});  // Nobody is there to read it.
  v1::SessionResponse response;
  v1::BatchResponse items = message.run.Response(large_bytes_max, *message.bytes);
  response.mutable_items()->Swap(items.mutable_items());
  Send(message, std::move(response));
}

void SessionCall::Send(Message& message, v1::SessionResponse response) {
  response.set_id(message.id);
  Unsent unsent{message.load, Serialize(response), std::move(message.bytes)};
  std::unique_ptr<Message> done;  // Goes outside the lock.
  {
    const MutexLock lock(mutex_);
    ONCED_CHECK(flow_.Enter());  // Since a message is in execution.
    flow_.Answered(message.load, message.waits, unsent.bytes.Length());
    unsent_.emplace_back().Swap(unsent);
    const auto found = executing_.find(&message);
    done = std::move(found->second);
    executing_.erase(found);
  }
  Proceed();
}

void SessionCall::Stop(const grpc::Status& status) {
  if (!flow_.stopped()) status_ = status;
  flow_.Stop();
}

std::vector<ShardSet::Ticket> SessionCall::Abandon() {
  flow_.Abandon();
  std::vector<ShardSet::Ticket> all;
  for (const auto& [key, message] : executing_) {
    all.insert(all.end(), message->tickets.begin(), message->tickets.end());
  }
  return all;
}

void SessionCall::Cancel(const std::vector<ShardSet::Ticket>& tickets) {
  for (const ShardSet::Ticket ticket : tickets) service_.shards.Cancel(ticket);
}

void SessionCall::Proceed() {
  for (;;) {
    SessionFlow::Step step{};
    const grpc::ByteBuffer* answer = nullptr;
    grpc::Status status;
    {
      const MutexLock lock(mutex_);
      step = flow_.Next();
      if (step == SessionFlow::Step::kWrite) answer = &unsent_.front().bytes;
      if (step == SessionFlow::Step::kFinish) status = status_;
    }
    switch (step) {
      case SessionFlow::Step::kNothing:
        return;
      case SessionFlow::Step::kRead:
        call_.StartRead(&request_);
        break;
      case SessionFlow::Step::kWrite:
        call_.StartWrite(*answer);
        break;
      case SessionFlow::Step::kFinish:
        return call_.Finish(status);
    }
  }
}

}  // namespace onced
