#include "server/rpc/call.h"

#include <utility>

#include "server/rpc/translate.h"

namespace onced {

void CallMeter::Ended(CallStatus status, absl::Duration waited) const {
  telemetry_.CallEnded(method_, status, Elapsed() - waited, waited);
}

void CallMeter::Failed(const google::rpc::Status& error, absl::Duration waited) const {
  telemetry_.CallRefused(method_, ReasonOf(error));
  Ended(CallStatus::kError, waited);
}

absl::Time DeadlineOf(const grpc::ServerContextBase& context, absl::Time now) {
  const gpr_timespec rest = gpr_convert_clock_type(context.raw_deadline(), GPR_TIMESPAN);
  if (gpr_time_cmp(rest, gpr_inf_future(GPR_TIMESPAN)) == 0) return absl::InfiniteFuture();
  return now + absl::Seconds(rest.tv_sec) + absl::Nanoseconds(rest.tv_nsec);
}

// Of what was stored only there may be much, and it can be asked for again.
bool SingleCall::TakeRoomFor(const grpc::ByteBuffer& response, const Reply& reply) {
  const std::size_t size = response.Length();
  bytes_.Set(ByteBudget::kCallBytes);  // The request has gone.
  if (size > ByteBudget::kSmallBytes && !std::holds_alternative<Fresh>(reply)) {
    return bytes_.TakeUpTo(size, use_, name_space_) == size;
  }
  bytes_.Set(ByteBudget::kCallBytes + size);
  return true;
}

void SingleCall::Fail(const google::rpc::Status& error, const Answer* answer) {
  StopWaiting();
  meter_.Failed(error, answer != nullptr ? answer->waited : absl::ZeroDuration());
  if (trace_) trace_.End(error, shards_.Now());
  call_.Reply(ToGrpc(error));
}

void SingleCall::Succeed(const grpc::ByteBuffer& response, const Answer& answer) {
  StopWaiting();
  meter_.Ended(CallStatusOf(answer.reply), answer.waited);
  if (trace_) trace_.End(answer, shards_.Now());
  call_.Reply(response);
}

}  // namespace onced
