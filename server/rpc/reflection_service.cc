#include "server/rpc/reflection_service.h"

#include <google/protobuf/message.h>

#include <memory>
#include <utility>

#include "server/rpc/wire.h"

namespace onced {

// One stream of requests. A read or a write is on its way until it finishes, and
// fails once the caller has gone: so that nothing else has to tell of that.
class ReflectionService::Call final : public StreamCall::Work {
 public:
  Call(const Reflection& reflection, StreamCall& call) : reflection_(reflection), call_(call) {}

  void Start() { call_.StartRead(&request_); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return call_.Finish(grpc::Status::OK);  // The half-close.
    reflection_v1::ServerReflectionRequest request;
    const auto violation = ParseName(request_, request);
    request_.Clear();
    if (violation.has_value()) return call_.Finish(NotARequest(*violation));
    call_.StartWrite(Serialize(reflection_.Answer(request)));
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return call_.Finish(grpc::Status::CANCELLED);
    call_.StartRead(&request_);
  }
  void OnCancel() override {}

  const Reflection& reflection_;
  StreamCall& call_;
  grpc::ByteBuffer request_;
};

namespace {

std::vector<std::string> With(std::vector<std::string> names, std::vector<std::string> more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

}  // namespace

ReflectionService::ReflectionService(std::vector<std::string> services)
    : reflection_(
          With(std::move(services), {V1::service_full_name(), V1Alpha::service_full_name()}),
          *google::protobuf::DescriptorPool::generated_pool()),
      methods_{MethodOf(v1_), MethodOf(v1alpha_)} {
  // Nothing else here would bring the description of that version into the program.
  google::protobuf::LinkMessageReflection<grpc::reflection::v1alpha::ServerReflectionRequest>();
}

void ReflectionService::Accept(CallQueue& queue) {
  for (const StreamCall::Method& method : methods_) StreamCall::Await(method, queue);
}

template <typename Service>
StreamCall::Method ReflectionService::MethodOf(Service& service) {
  return {.request =
              [&service](auto... arguments) { service.RequestServerReflectionInfo(arguments...); },
          .begin =
              [this](StreamCall& call) {
                auto reads = std::make_unique<Call>(reflection_, call);
                reads->Start();
                return reads;
              }};
}

}  // namespace onced
