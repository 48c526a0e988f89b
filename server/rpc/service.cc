#include "server/rpc/service.h"

#include <utility>

#include "server/rpc/batch_call.h"
#include "server/rpc/call.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/errors.h"
#include "server/rpc/translate.h"
#include "server/rpc/wire.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

// Of a method and a queue, in a millisecond in which there is no room for them: a sixth of
// a core's time to refuse them.
constexpr int kCrowdedCallsMax = 8;
// The same of batches, which take longer; but they are far more to carry out, so that it is
// done for a namespace's sake, too, that has no room of its own.
constexpr int kCrowdedBatchesMax = 8;

}  // namespace

IdempotencyService::IdempotencyService(ShardSet& shards, const PolicyTable& policies,
                                       const Authenticator& authenticator, Telemetry& telemetry,
                                       Tracer* tracer, std::size_t call_bytes_max)
    : shards_(shards),
      policies_(policies),
      authenticator_(authenticator),
      telemetry_(telemetry),
      tracer_(tracer),
      methods_(MakeMethods()),
      session_method_(MakeSessionMethod()),
      budget_(call_bytes_max) {}

RpcTelemetry* IdempotencyService::Counter(Method method) {
  return telemetry_.OfRpc({.service = v1::IdempotencyService::service_full_name(),
                           .method = NameOf(method),
                           .streams = method == Method::kSession});
}

void IdempotencyService::Accept(CallQueue& queue) {
  for (const UnaryCall::Method& method : methods_) UnaryCall::Await(method, queue);
  StreamCall::Await(session_method_, queue);
}

template <typename Message, typename EncoderFor>
std::unique_ptr<UnaryCall::Work> IdempotencyService::Single(Method method, UnaryCall& rpc,
                                                            EncoderFor encoder_for) {
  if (refusing_) return RefuseDraining(method, rpc);
  const auto caller = authenticator_.Identify(rpc.context());
  auto owned =
      std::make_unique<SingleCall>(method, shards_, telemetry_, in_flight_, budget_, rpc,
                                   CallTrace(TracerFor(caller), rpc.context(), method, shards_));
  SingleCall* const call = owned.get();
  if (const auto* stranger = std::get_if<google::rpc::Status>(&caller)) {
    call->Failed(*stranger);
    return owned;
  }
  const absl::Time now = shards_.Now();
  const absl::Time deadline = DeadlineOf(rpc.context(), now);
  // Who is late already is told so at no cost. A Commit is executed all the same.
  if (deadline <= now && method != Method::kCommit) {
    call->Failed(ErrorOf(Refused{Refusal::kDeadlinePassed}));
    return owned;
  }
  if (!call->TryTakeRoom()) {
    call->Failed(ErrorOf(Refused{Refusal::kMemoryFull}));
    return owned;
  }
  Message message;
  if (const auto violation = ParseBounded(rpc.request(), message)) {
    call->Failed(ErrorOf(*violation));
    return owned;
  }
  Checked checked = Validator(policies_, std::get<Caller>(caller)).Check(message);
  if (const auto* error = std::get_if<google::rpc::Status>(&checked)) {
    call->Failed(*error);
    return owned;
  }
  Request request = std::get<Request>(std::move(checked));
  if (IsReserve(request)) {
    if (const auto refused = TakeQuota(quotas_, now, request)) {
      call->Failed(*refused);
      return owned;
    }
  }
  request.deadline = deadline;
  call->Traces(request);
  call->AnswersTo(request);
  if (MayWait(request) && !call->TryWait(waits_)) {
    // Over its connection's share it does not wait: a CONFLICT comes at once.
    std::get<ReserveOp>(request.operation).wait_timeout = absl::ZeroDuration();
  }
  request.answer = [call, encode = encoder_for(message)](const Answer& answer) {
    call->Answered(answer, encode);
  };
  const bool cancels = IsReserve(request);
  const ShardSet::Ticket ticket = shards_.Submit(std::move(request));
  if (cancels) call->CancelsAs(ticket);
  return owned;
}

std::unique_ptr<UnaryCall::Work> IdempotencyService::BeginBatch(UnaryCall& rpc) {
  if (refusing_) return RefuseDraining(Method::kBatch, rpc);
  const auto caller = authenticator_.Identify(rpc.context());
  auto call = std::make_unique<BatchCall>(
      shards_, telemetry_, in_flight_, budget_, rpc,
      CallTrace(TracerFor(caller), rpc.context(), Method::kBatch, shards_));
  v1::BatchRequest batch;
  if (const auto* stranger = std::get_if<google::rpc::Status>(&caller)) {
    call->Failed(*stranger);
  } else if (!call->TryTakeRoom()) {
    call->Failed(ErrorOf(Refused{Refusal::kMemoryFull}));
  } else if (const auto violation = ParseBounded(rpc.request(), batch)) {
    call->Failed(ErrorOf(*violation));
  } else {
    const Validator validator(policies_, std::get<Caller>(caller));
    call->Start(batch, validator, DeadlineOf(rpc.context(), shards_.Now()), quotas_);
  }
  return call;
}

// It isn't counted as one in flight: the end doesn't wait for it.
std::unique_ptr<UnaryCall::Work> IdempotencyService::RefuseDraining(Method method,
                                                                    UnaryCall& call) const {
  const google::rpc::Status error = ErrorOf(Refused{Refusal::kDraining});
  CallMeter(method, shards_, telemetry_).Failed(error, absl::ZeroDuration());
  call.Reply(ToGrpc(error));
  return std::make_unique<UnaryCall::Work>();
}

std::vector<UnaryCall::Method> IdempotencyService::MakeMethods() {
  const auto requester = [this](auto request) {
    return [this, request](auto... arguments) { (this->*request)(arguments...); };
  };
  const auto single = [this]<typename Message>(Method method, Message /*type*/, auto encoder_for) {
    return [this, method, encoder_for](UnaryCall& rpc) {
      return Single<Message>(method, rpc, encoder_for);
    };
  };
  const auto crowded = [this] { return shards_.Crowded(); };
  const auto always = [](auto* encode) { return [encode](const auto&) { return encode; }; };
  const auto inspected = [](const v1::InspectRequest& message) {
    return [include = message.include_result()](const Answer& answer) {
      return InspectResponseOf(answer, include);
    };
  };
  return {{.request = requester(&RawService::RequestReserve),
           .begin = single(Method::kReserve, v1::ReserveRequest(), always(&ReserveResponseOf)),
           .cancels = true,
           .telemetry = Counter(Method::kReserve),
           .crowded = crowded,
           .crowded_max = kCrowdedCallsMax},
          {.request = requester(&RawService::RequestCommit),
           .begin = single(Method::kCommit, v1::CommitRequest(), always(&CommitResponseOf)),
           .telemetry = Counter(Method::kCommit)},
          {.request = requester(&RawService::RequestRelease),
           .begin = single(Method::kRelease, v1::ReleaseRequest(), always(&ReleaseResponseOf)),
           .telemetry = Counter(Method::kRelease)},
          {.request = requester(&RawService::RequestExtend),
           .begin = single(Method::kExtend, v1::ExtendRequest(), always(&ExtendResponseOf)),
           .telemetry = Counter(Method::kExtend)},
          {.request = requester(&RawService::RequestInspect),
           .begin = single(Method::kInspect, v1::InspectRequest(), inspected),
           .telemetry = Counter(Method::kInspect),
           .crowded = crowded,
           .crowded_max = kCrowdedCallsMax},
          {.request = requester(&RawService::RequestBatch),
           .begin = [this](UnaryCall& rpc) { return BeginBatch(rpc); },
           .telemetry = Counter(Method::kBatch),
           .crowded = [this] { return shards_.PartlyCrowded(); },
           .crowded_max = kCrowdedBatchesMax}};
}

StreamCall::Method IdempotencyService::MakeSessionMethod() {
  return {.request = [this](auto... arguments) { RequestSession(arguments...); },
          .begin =
              [this](StreamCall& call) {
                auto session = std::make_unique<SessionCall>(
                    SessionCall::Service{.shards = shards_,
                                         .policies = policies_,
                                         .authenticator = authenticator_,
                                         .telemetry = telemetry_,
                                         .tracer = tracer_,
                                         .in_flight = in_flight_,
                                         .waits = waits_,
                                         .sessions = sessions_,
                                         .budget = budget_,
                                         .quotas = quotas_},
                    call);
                session->Start();
                return session;
              },
          .telemetry = Counter(Method::kSession)};
}

}  // namespace onced
