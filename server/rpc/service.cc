#include "server/rpc/service.h"

#include <utility>

#include "server/rpc/batch_call.h"
#include "server/rpc/call.h"
#include "server/rpc/errors.h"
#include "server/rpc/translate.h"
#include "server/rpc/wire.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

google::rpc::Status ErrorOf(Violation violation) {
  return onced::ErrorOf(std::vector<Violation>{std::move(violation)});
}

}  // namespace

IdempotencyService::IdempotencyService(ShardSet& shards, const PolicyTable& policies,
                                       Telemetry& telemetry)
    : shards_(shards), validator_(policies), telemetry_(telemetry) {}

template <typename Message, typename EncoderFor>
grpc::ServerUnaryReactor* IdempotencyService::Single(Method method,
                                                     grpc::CallbackServerContext& context,
                                                     const grpc::ByteBuffer& bytes,
                                                     grpc::ByteBuffer& response,
                                                     EncoderFor encoder_for) {
  auto* call =
      new SingleCall(method, shards_, telemetry_, in_flight_, response);  // Deletes itself.
  Message message;
  if (auto violation = Parse(bytes, message)) {
    call->Failed(ErrorOf(std::move(*violation)));
    return call;
  }
  Checked checked = validator_.Check(message);
  if (const auto* error = std::get_if<google::rpc::Status>(&checked)) {
    call->Failed(*error);
    return call;
  }
  Request request = std::get<Request>(std::move(checked));
  request.deadline = DeadlineOf(context, shards_.Now());
  if (MayWait(request)) {
    // Over its connection's share it does not wait: a CONFLICT comes at once.
    if (waits_.TryAdd(context.peer())) {
      call->WaitsAs(context.peer(), waits_);
    } else {
      std::get<ReserveOp>(request.operation).wait_timeout = absl::ZeroDuration();
    }
  }
  request.answer = [call, encode = encoder_for(message)](const Answer& answer) {
    call->Answered(answer, encode);
  };
  const bool cancels = IsReserve(request);
  const ShardSet::Ticket ticket = shards_.Submit(std::move(request));
  if (cancels) call->CancelsAs(ticket);
  return call;
}

grpc::ServerUnaryReactor* IdempotencyService::Reserve(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return Single<v1::ReserveRequest>(Method::kReserve, *context, *request, *response,
                                    [](const v1::ReserveRequest&) { return &ReserveResponseOf; });
}

grpc::ServerUnaryReactor* IdempotencyService::Commit(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  return Single<v1::CommitRequest>(Method::kCommit, *context, *request, *response,
                                   [](const v1::CommitRequest&) { return &CommitResponseOf; });
}

grpc::ServerUnaryReactor* IdempotencyService::Release(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return Single<v1::ReleaseRequest>(Method::kRelease, *context, *request, *response,
                                    [](const v1::ReleaseRequest&) { return &ReleaseResponseOf; });
}

grpc::ServerUnaryReactor* IdempotencyService::Extend(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  return Single<v1::ExtendRequest>(Method::kExtend, *context, *request, *response,
                                   [](const v1::ExtendRequest&) { return &ExtendResponseOf; });
}

grpc::ServerUnaryReactor* IdempotencyService::Inspect(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  const auto encoder_for = [](const v1::InspectRequest& message) {
    return [include = message.include_result()](const Answer& answer) {
      return InspectResponseOf(answer, include);
    };
  };
  return Single<v1::InspectRequest>(Method::kInspect, *context, *request, *response, encoder_for);
}

grpc::ServerUnaryReactor* IdempotencyService::Batch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request,
                                                    grpc::ByteBuffer* response) {
  auto* call = new BatchCall(shards_, telemetry_, in_flight_, *response);  // Deletes itself.
  v1::BatchRequest batch;
  if (auto violation = Parse(*request, batch)) {
    call->Failed(ErrorOf(std::move(*violation)));
  } else {
    call->Start(batch, validator_, DeadlineOf(*context, shards_.Now()));
  }
  return call;
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* IdempotencyService::Session(
    grpc::CallbackServerContext* context) {
  const SessionCall::Service service{.shards = shards_,
                                     .validator = validator_,
                                     .telemetry = telemetry_,
                                     .in_flight = in_flight_,
                                     .waits = waits_,
                                     .sessions = sessions_};
  auto* call = new SessionCall(service, context->peer(),
                               DeadlineOf(*context, shards_.Now()));  // Deletes itself.
  call->Start();
  return call;
}

}  // namespace onced
