#include "client/fake/service_run.h"

#include <algorithm>
#include <future>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace onced::client {
namespace {

// For calls in flight, which wait for nothing but this process.
constexpr absl::Duration kPatience = absl::Seconds(10);

std::unique_ptr<MemoryStore> OpenStore(const ServiceRun::Lasting& lasting, Random& random) {
  auto store = MemoryStore::Open(lasting.disk, {.restart_grace = lasting.restart_grace,
                                                .wall_now = lasting.time.Read().wall,
                                                .random = random});
  ONCED_CHECK(store.ok());  // Only this wrote it.
  // Time resumes at the store's mark, as the real one's does, which is ahead by a second at most.
  const absl::Duration behind = (*store)->clock_mark() - lasting.time.Read().wall;
  lasting.time.Advance(std::max(behind, absl::ZeroDuration()));
  return *std::move(store);
}

// Those of the real one's limits that a client can run into by itself.
void SetLimits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(limits::kMessageBytesMax);
  builder.SetMaxSendMessageSize(-1);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsMax);
}

}  // namespace

// Keeps the queue from ending until the server has been shut down: gRPC complains of it else.
class ServiceRun::Hold final : public CallQueue::Event {
 public:
  explicit Hold(CallQueue& queue) : queue_(queue) {}
  // On the queue's thread.
  void Begin() { queue_.Expect(); }
  // On any.
  void End() { alarm_.Set(queue_.queue(), gpr_inf_past(GPR_CLOCK_MONOTONIC), tag()); }
  void Happened(bool /*ok*/) override { queue_.ExpectNoMore(); }

 private:
  CallQueue& queue_;
  grpc::Alarm alarm_;
};

ServiceRun::ServiceRun(const Lasting& lasting)
    : store_(OpenStore(lasting, random_)),
      clock_(lasting.time,
             {.max_downtime = absl::InfiniteDuration(), .last_believed = store_->clock_mark()}),
      start_time_(clock_.Now()),
      shards_({}, *store_, clock_, telemetry_),
      service_(shards_, lasting.policies, authenticator_, telemetry_),
      admin_({.status = [this] { return Status(); }}, {.authenticator = authenticator_,
                                                       .shards = shards_,
                                                       .store = *store_,
                                                       .policies = lasting.policies,
                                                       .clock = clock_,
                                                       .telemetry = telemetry_,
                                                       .audit_log = audit_log_}) {
  grpc::ServerBuilder builder;
  SetLimits(builder);
  int port = 0;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", lasting.port),
                           grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service_);
  builder.RegisterService(&admin_);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(InterceptorOf(lasting.faults));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  queue_ = std::make_unique<CallQueue>(builder.AddCompletionQueue(), CallQueue::Callers::kMany);
  server_ = builder.BuildAndStart();
  ONCED_CHECK(server_ != nullptr && port == lasting.port);
  hold_ = std::make_unique<Hold>(*queue_);
  queue_->Start([this](CallQueue& queue) {
    hold_->Begin();
    service_.Accept(queue);
    admin_.Accept(queue);
  });
}

ServiceRun::~ServiceRun() {
  admin_.RequestStop();
  shards_.StartDraining();
  service_.RefuseCalls();
  service_.EndSessions();
  service_.AwaitIdle(kPatience);
  admin_.Stop();
  // A call that has just come, and would be refused, is cut off.
  server_->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
  hold_->End();
  queue_->Join();
}

Inspected ServiceRun::Look(const RecordKey& key) {
  std::promise<Answer> answer;
  Request request{.key = key, .operation = InspectOp{}, .policy = &any_policy_};
  request.answer = [&answer](Answer answered) { answer.set_value(std::move(answered)); };
  shards_.Submit(std::move(request));
  const Answer answered = answer.get_future().get();
  ONCED_CHECK(std::holds_alternative<Inspected>(answered.reply));
  return std::get<Inspected>(answered.reply);
}

ServerStatus ServiceRun::Status() const {
  return {.version = ONCED_VERSION,
          .start_time = start_time_,
          .sessions = service_.sessions(),
          .time = clock_.Now(),
          .clock_step = clock_.Step(),
          .clock_mark = store_->clock_mark(),
          .key_count = store_->EstimateKeys()};
}

}  // namespace onced::client
