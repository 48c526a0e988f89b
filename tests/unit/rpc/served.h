// A server in this process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/rpc/grpc_server.h"

namespace onced::rpc_test {

constexpr char kServiceName[] = "the.Service";

// As onced makes its own, on any free port, and a connection to it.
class Served {
 public:
  explicit Served(grpc::Service& service, CallQueue::Accept accept,
                  CallQueue::Callers callers = CallQueue::Callers::kMany, int queues = 1) {
    auto server = GrpcServer::Listen({.setting = "listen",
                                      .address = "127.0.0.1:0",
                                      .service_name = kServiceName,
                                      .buffer_bytes_max = std::size_t{256} << 20,
                                      .queues = queues,
                                      .callers = callers,
                                      .accept = std::move(accept)},
                                     service);
    if (!server.ok()) throw std::runtime_error(std::string(server.status().message()));
    server_ = *std::move(server);
    channel_ = Connect();
  }

  GrpcServer& server() { return *server_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  std::shared_ptr<grpc::Channel> Connect() const { return ConnectTo(address()); }
  // Each call makes a connection of its own.
  static std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }

 private:
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace onced::rpc_test
