#include "server/rpc/health_service.h"

#include <utility>

#include "server/rpc/wire.h"

namespace onced {
namespace {

health_v1::HealthCheckResponse ResponseOf(health_v1::HealthCheckResponse::ServingStatus status) {
  health_v1::HealthCheckResponse response;
  response.set_status(status);
  return response;
}

}  // namespace

// One Watch RPC in flight: reads its one message, and tells of what changes.
//
// Threads: the queue's, and who changes something; the service's lock guards it. gRPC
//          is called under that lock, and calls nothing back.
class HealthService::Watch final : public StreamCall::Work {
 public:
  Watch(HealthService& service, StreamCall& call) : service_(service), call_(call) {}
  ~Watch() override {
    const MutexLock lock(service_.mutex_);
    service_.watches_.erase(this);
  }

  void Start() {
    const MutexLock lock(service_.mutex_);
    service_.watches_.insert(this);
    call_.StartRead(&request_);
    service_.Proceed(*this);
  }

 private:
  friend class HealthService;

  void OnReadDone(bool ok) override {
    health_v1::HealthCheckRequest request;
    const auto violation =
        ok ? ParseName(request_, request) : Violation{"request", "there is none"};
    request_.Clear();
    const MutexLock lock(service_.mutex_);
    if (violation.has_value()) return Finish(NotARequest(*violation));
    name_ = request.service();
    service_.Proceed(*this);
  }
  void OnWriteDone(bool ok) override {
    const MutexLock lock(service_.mutex_);
    writing_ = false;
    if (!ok || cancelled_) return Finish(grpc::Status::CANCELLED);
    service_.Proceed(*this);
  }
  void OnCancel() override {
    const MutexLock lock(service_.mutex_);
    cancelled_ = true;
    if (!writing_) Finish(grpc::Status::CANCELLED);
  }
  // Under the service's lock.
  void Finish(const grpc::Status& status) {
    if (!std::exchange(finished_, true)) call_.Finish(status);
  }

  HealthService& service_;
  StreamCall& call_;

  // The read's.
  grpc::ByteBuffer request_;

  // Guarded by the service's lock.
  std::optional<std::string> name_;  // Once it has been read.
  std::optional<Status> told_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

HealthService::HealthService(std::string service_name)
    : service_name_(std::move(service_name)),
      check_{.request = [this](auto... arguments) { RequestCheck(arguments...); },
             .begin = [this](UnaryCall& call) -> std::unique_ptr<UnaryCall::Work> {
               ReplyTo(call);
               return nullptr;
             }},
      watch_{.request = [this](auto... arguments) { RequestRawWatch(arguments...); },
             .begin =
                 [this](StreamCall& call) {
                   auto watch = std::make_unique<Watch>(*this, call);
                   watch->Start();
                   return watch;
                 }} {}

void HealthService::Accept(CallQueue& queue) {
  UnaryCall::Await(check_, queue);
  StreamCall::Await(watch_, queue);
}

void HealthService::ReplyTo(UnaryCall& call) const {
  health_v1::HealthCheckRequest request;
  if (const auto violation = ParseName(call.request(), request)) {
    return call.Reply(NotARequest(*violation));
  }
  const auto status = StatusOf(request.service());
  if (!status.has_value()) return call.Reply({grpc::NOT_FOUND, "no such service"});
  call.Reply(Serialize(ResponseOf(*status)));
}

std::optional<HealthService::Status> HealthService::LockedStatusOf(const std::string& name) const {
  if (!name.empty() && name != service_name_) return std::nullopt;
  return serving_ ? health_v1::HealthCheckResponse::SERVING
                  : health_v1::HealthCheckResponse::NOT_SERVING;
}

void HealthService::Proceed(Watch& watch) {
  if (watch.finished_ || watch.writing_) return;
  if (ending_) return watch.Finish({grpc::UNAVAILABLE, "the server is shutting down"});
  if (!watch.name_.has_value()) return;
  const Status status =
      LockedStatusOf(*watch.name_).value_or(health_v1::HealthCheckResponse::SERVICE_UNKNOWN);
  if (watch.told_ == status) return;
  watch.told_ = status;
  watch.writing_ = true;
  watch.call_.StartWrite(Serialize(ResponseOf(status)));
}

void HealthService::StopServing() {
  const MutexLock lock(mutex_);
  serving_ = false;
  for (Watch* watch : watches_) Proceed(*watch);
}

void HealthService::EndWatches() {
  const MutexLock lock(mutex_);
  ending_ = true;
  for (Watch* watch : watches_) Proceed(*watch);
}

}  // namespace onced
