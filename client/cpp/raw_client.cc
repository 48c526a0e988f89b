#include "client/cpp/raw_client.h"

#include <algorithm>

#include "client/cpp/call.h"
#include "client/cpp/security.h"
#include "grpcpp/create_channel.h"

namespace onced::client {
namespace {

// The server takes a ping every 10 s, and ends the connection of a client that sends more.
constexpr int kKeepaliveMs = 12'000;
constexpr int kKeepaliveTimeoutMs = 5'000;
constexpr int kFirstBackoffMs = 100;
// A connection that isn't made by then isn't made; nor is the name asked for more often, which
// leads elsewhere by then if the server has moved.
constexpr int kConnectTimeoutMinMs = 3'000;

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

grpc::ChannelArguments ArgumentsOf(const ConnectOptions& options) {
  grpc::ChannelArguments arguments;
  if (!options.user_agent.empty()) arguments.SetUserAgentPrefix(options.user_agent);
  const auto backoff_max = static_cast<int>(absl::ToInt64Milliseconds(std::clamp(
      options.reconnect_backoff_max, absl::Milliseconds(kFirstBackoffMs), absl::Hours(1))));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, std::min(kFirstBackoffMs, backoff_max));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, backoff_max);
  // gRPC's own are 20 s for a connection to be made, and 30 s between two look-ups of the name.
  const int connect = std::max(kConnectTimeoutMinMs, backoff_max);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, connect);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, connect);
  // A connection that swallows everything is otherwise kept until the kernel gives it up.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, options.use_http_proxy ? 1 : 0);
  return arguments;
}

std::shared_ptr<grpc::Channel> NewChannel(const std::string& target,
                                          const ConnectOptions& options) {
  return grpc::CreateCustomChannel(target, CredentialsOf(options), ArgumentsOf(options));
}

std::unique_ptr<Stub> NewStub(const std::string& target, const ConnectOptions& options) {
  return v1::IdempotencyService::NewStub(NewChannel(target, options));
}

RawClient RawClient::Connect(const std::string& target, const ConnectOptions& options) {
  return RawClient(NewStub(target, options));
}

absl::StatusOr<v1::ReserveResponse> RawClient::Reserve(const v1::ReserveRequest& request,
                                                       const CallOptions& options) {
  return Call(*stub_, &Stub::Reserve, request, options);
}

absl::StatusOr<v1::CommitResponse> RawClient::Commit(const v1::CommitRequest& request,
                                                     const CallOptions& options) {
  return Call(*stub_, &Stub::Commit, request, options);
}

absl::StatusOr<v1::ReleaseResponse> RawClient::Release(const v1::ReleaseRequest& request,
                                                       const CallOptions& options) {
  return Call(*stub_, &Stub::Release, request, options);
}

absl::StatusOr<v1::ExtendResponse> RawClient::Extend(const v1::ExtendRequest& request,
                                                     const CallOptions& options) {
  return Call(*stub_, &Stub::Extend, request, options);
}

absl::StatusOr<v1::InspectResponse> RawClient::Inspect(const v1::InspectRequest& request,
                                                       const CallOptions& options) {
  return Call(*stub_, &Stub::Inspect, request, options);
}

absl::StatusOr<v1::BatchResponse> RawClient::Batch(const v1::BatchRequest& request,
                                                   const CallOptions& options) {
  return Call(*stub_, &Stub::Batch, request, options);
}

}  // namespace onced::client
