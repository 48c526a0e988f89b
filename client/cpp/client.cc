#include "client/cpp/client.h"

#include "client/cpp/call.h"
#include "client/cpp/security.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace onced::client {
namespace {

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const ConnectOptions& options) {
  if (options.auth_token_file.empty()) {
    return options.credentials != nullptr ? options.credentials
                                          : grpc::InsecureChannelCredentials();
  }
  // Plain as the insecure ones are, but of connections within this machine.
  const auto channel = options.credentials != nullptr
                           ? options.credentials
                           : grpc::experimental::LocalCredentials(LOCAL_TCP);
  return WithTokenFile(channel, options.auth_token_file);
}

}  // namespace

std::shared_ptr<grpc::Channel> NewChannel(const std::string& target,
                                          const ConnectOptions& options) {
  grpc::ChannelArguments arguments;
  if (!options.user_agent.empty()) arguments.SetUserAgentPrefix(options.user_agent);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, options.use_http_proxy ? 1 : 0);
  return grpc::CreateCustomChannel(target, CredentialsOf(options), arguments);
}

std::unique_ptr<Stub> NewStub(const std::string& target, const ConnectOptions& options) {
  return v1::IdempotencyService::NewStub(NewChannel(target, options));
}

Client Client::Connect(const std::string& target, const ConnectOptions& options) {
  return Client(NewStub(target, options));
}

absl::StatusOr<v1::ReserveResponse> Client::Reserve(const v1::ReserveRequest& request,
                                                    const CallOptions& options) {
  return Call(*stub_, &Stub::Reserve, request, options);
}

absl::StatusOr<v1::CommitResponse> Client::Commit(const v1::CommitRequest& request,
                                                  const CallOptions& options) {
  return Call(*stub_, &Stub::Commit, request, options);
}

absl::StatusOr<v1::ReleaseResponse> Client::Release(const v1::ReleaseRequest& request,
                                                    const CallOptions& options) {
  return Call(*stub_, &Stub::Release, request, options);
}

absl::StatusOr<v1::ExtendResponse> Client::Extend(const v1::ExtendRequest& request,
                                                  const CallOptions& options) {
  return Call(*stub_, &Stub::Extend, request, options);
}

absl::StatusOr<v1::InspectResponse> Client::Inspect(const v1::InspectRequest& request,
                                                    const CallOptions& options) {
  return Call(*stub_, &Stub::Inspect, request, options);
}

absl::StatusOr<v1::BatchResponse> Client::Batch(const v1::BatchRequest& request,
                                                const CallOptions& options) {
  return Call(*stub_, &Stub::Batch, request, options);
}

}  // namespace onced::client
