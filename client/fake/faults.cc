#include "client/fake/faults.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "grpcpp/support/byte_buffer.h"
#include "idempotency/v1/idempotency.grpc.pb.h"

namespace onced::client {
namespace {

using grpc::experimental::InterceptionHookPoints;

// By Rpc.
constexpr absl::string_view kNames[] = {"Reserve", "Commit", "Release", "Extend",
                                        "Inspect", "Batch",  "Session"};

// nullopt: it isn't one of the service's.
std::optional<Rpc> RpcOf(absl::string_view method) {
  const absl::string_view service = idempotency::v1::IdempotencyService::service_full_name();
  if (!absl::ConsumePrefix(&method, "/") || !absl::ConsumePrefix(&method, service) ||
      !absl::ConsumePrefix(&method, "/")) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (method == kNames[i]) return static_cast<Rpc>(i);
  }
  return std::nullopt;
}

// One call that goes wrong. gRPC has no way for an interceptor to answer a call: so the
// service is given an empty request, which it refuses, and its refusal is replaced.
class Saboteur final : public grpc::experimental::Interceptor {
 public:
  explicit Saboteur(Fault fault) : fault_(std::move(fault)) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (fault_.refused &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      static_cast<grpc::ByteBuffer*>(methods->GetRecvMessage())->Clear();
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      methods->GetSerializedSendMessage()->Clear();
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      methods->ModifySendStatus(fault_.status);
    }
    methods->Proceed();
  }

 private:
  const Fault fault_;
};

class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(Faults& faults) : faults_(faults) {}

  // nullptr: it isn't interfered with.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    const std::optional<Rpc> rpc = RpcOf(info->method());
    if (!rpc.has_value()) return nullptr;
    std::optional<Fault> fault = faults_.Meet(*rpc);
    return fault.has_value() ? new Saboteur(*std::move(fault)) : nullptr;
  }

 private:
  Faults& faults_;
};

}  // namespace

void Faults::Order(int count, std::optional<Rpc> rpc, const Fault& fault) {
  const MutexLock lock(mutex_);
  if (count > 0) ordered_.push_back({count, rpc, fault});
}

void Faults::Clear() {
  const MutexLock lock(mutex_);
  ordered_.clear();
}

std::optional<Fault> Faults::Meet(Rpc rpc) {
  const MutexLock lock(mutex_);
  ++calls_[static_cast<std::size_t>(rpc)];
  if (rpc == Rpc::kSession) return std::nullopt;
  for (auto it = ordered_.begin(); it != ordered_.end(); ++it) {
    if (it->rpc.value_or(rpc) != rpc) continue;
    Fault fault = it->fault;
    if (--it->count == 0) ordered_.erase(it);
    return fault;
  }
  return std::nullopt;
}

std::int64_t Faults::calls(Rpc rpc) const {
  const MutexLock lock(mutex_);
  return calls_[static_cast<std::size_t>(rpc)];
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> InterceptorOf(
    Faults& faults) {
  return std::make_unique<Factory>(faults);
}

}  // namespace onced::client
