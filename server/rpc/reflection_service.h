// grpc.reflection, v1 and v1alpha: clients learn of the API from the server.
#pragma once

#include <grpcpp/grpcpp.h>

#include <array>
#include <string>
#include <vector>

#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/reflection.h"
#include "server/rpc/stream_call.h"

namespace onced {

// Operation: the two versions differ in their names alone, so that the messages of
//            one serve both.
// Threads:   calls on their queue's.
// Lifetime:  outlives the server that serves it.
// Limits:    of a stream, the next request is read once the last one's answer is sent.
class ReflectionService final {
 public:
  // Tells of these services, and of itself.
  explicit ReflectionService(std::vector<std::string> services);

  // What a server is to register.
  std::array<grpc::Service*, 2> services() { return {&v1_, &v1alpha_}; }
  // Serves the calls that come by this queue.
  void Accept(CallQueue& queue);

 private:
  using V1 = grpc::reflection::v1::ServerReflection;
  using V1Alpha = grpc::reflection::v1alpha::ServerReflection;
  class Call;

  template <typename Service>
  StreamCall::Method MethodOf(Service& service);

  // Constant after construction.
  const Reflection reflection_;
  V1::WithRawMethod_ServerReflectionInfo<V1::Service> v1_;
  V1Alpha::WithRawMethod_ServerReflectionInfo<V1Alpha::Service> v1alpha_;
  const std::array<StreamCall::Method, 2> methods_;
};

}  // namespace onced
