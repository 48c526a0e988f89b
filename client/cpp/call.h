// What the clients' methods have in common.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/cpp/error.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace onced::client {

std::shared_ptr<grpc::Channel> NewChannel(const std::string& target, const ConnectOptions& options);

inline std::unique_ptr<grpc::ClientContext> NewContext(const CallOptions& options) {
  auto context = std::make_unique<grpc::ClientContext>();
  if (options.deadline != absl::InfiniteFuture()) {
    context->set_deadline(absl::ToChronoTime(options.deadline));
  }
  return context;
}

// One attempt, which blocks.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request, const CallOptions& options) {
  const std::unique_ptr<grpc::ClientContext> context = NewContext(options);
  Response response;
  const grpc::Status status = (stub.*method)(context.get(), request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  return response;
}

}  // namespace onced::client
