// A user's own service, whose method is done once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "charges.grpc.pb.h"
#include "client/cpp/idempotent_method.h"
#include "grpcpp/grpcpp.h"

namespace onced::integration {

namespace charges = ::onced::test::charges;

inline constexpr char kAccountMetadata[] = "x-account";

// The account stands in the call's metadata; a real service has it from its authentication.
inline absl::StatusOr<std::string> AccountOf(const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find(kAccountMetadata);
  if (found == context.client_metadata().end()) return absl::UnauthenticatedError("who is it?");
  return std::string(found->second.data(), found->second.size());
}

// Operation: serves on a port of its own until it is destroyed.
// Threads:   gRPC's own call the methods; `handle` is constant while calls run.
class ChargesServer final : public charges::Charges::Service {
 public:
  using Handle = std::function<grpc::Status(client::WorkContext& work, grpc::ServerContext& context,
                                            const charges::ChargeRequest& request,
                                            charges::ChargeResponse& response)>;

  // Throws what is wrong with the options.
  ChargesServer(const client::Client& client, const client::MethodOptions& options)
      : charge_(Method(client, "/onced.test.charges.Charges/Charge", options)),
        refund_(Method(client, "/onced.test.charges.Charges/Refund", options)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ChargesServer() override { server_->Shutdown(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  Handle handle;
  std::atomic<int> runs = 0;  // Of the handler.

 private:
  static client::IdempotentMethod Method(const client::Client& client, const std::string& name,
                                         const client::MethodOptions& options) {
    return client::IdempotentMethod::Create(client, name, *charges::ChargeRequest::descriptor(),
                                            options)
        .value();
  }

  grpc::Status Run(const client::IdempotentMethod& method, grpc::ServerContext* context,
                   const charges::ChargeRequest* request, charges::ChargeResponse* response) {
    return method.Run(*context, *request, *response, [&](client::WorkContext& work) {
      ++runs;
      return handle(work, *context, *request, *response);
    });
  }
  grpc::Status Charge(grpc::ServerContext* context, const charges::ChargeRequest* request,
                      charges::ChargeResponse* response) override {
    return Run(charge_, context, request, response);
  }
  grpc::Status Refund(grpc::ServerContext* context, const charges::ChargeRequest* request,
                      charges::ChargeResponse* response) override {
    return Run(refund_, context, request, response);
  }

  const client::IdempotentMethod charge_;
  const client::IdempotentMethod refund_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace onced::integration
