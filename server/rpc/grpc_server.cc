#include "server/rpc/grpc_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/resource_quota.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/ledger/policy.h"
#include "server/rpc/service.h"
#include "server/rpc/watched_transports.h"

namespace onced {
namespace {

constexpr int kMetadataBytesMax = 8 << 10;
constexpr int kHandshakeTimeoutMs = 10'000;
constexpr int kKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
// Clients that ping more often than this are told to calm down.
constexpr int kClientPingMinMs = 10'000;
// One without calls takes a descriptor; a client opens another one when it has a call.
constexpr int kConnectionIdleMs = 5 * 60'000;
// A thread of gRPC's goes on with a connection as long as a read left something
// behind: one that sends without end would keep it from all others. So a read takes
// all that a connection's buffer can hold (see acceptor.cc), and after it the others
// have their turn.
constexpr int kReadBytesMin = 128 << 10;
// Old connections are asked to reconnect, so that load spreads; the grace is
// longer than the longest wait.
constexpr int kConnectionAgeMs = 20 * 60'000;
constexpr int kConnectionGraceMs = 2 * 60'000;
// For calls that came while the last ones were waited for.
constexpr int kShutdownMs = 250;

// The libraries' own lines are not ours in form, and what they say we say
// ourselves: protobuf writes one for every string of a caller's that isn't UTF-8.
// gRPC's usual variable for debugging brings both back.
void QuietenLibraries() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args*) {});
  google::protobuf::SetLogHandler(nullptr);
}

void SetLimits(grpc::ServerBuilder& builder, const GrpcServer::Options& options) {
  builder.SetMaxReceiveMessageSize(limits::kMessageBytesMax);
  builder.SetMaxSendMessageSize(-1);
  // Else the limit above is looked at after a message was inflated, to whatever size.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kClientPingMinMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kConnectionIdleMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kConnectionAgeMs);
  builder.AddChannelArgument(
      GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
      options.long_calls ? std::numeric_limits<int>::max() : kConnectionGraceMs);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, kReadBytesMin);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytesMin);
  grpc::ResourceQuota quota("onced");
  quota.Resize(options.buffer_bytes_max);
  builder.SetResourceQuota(quota);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Listen(const Options& options,
                                                               grpc::Service& service) {
  QuietenLibraries();
  if (absl::Status watched = CheckTransportsAreWatched(); !watched.ok()) return watched;
  // Debian's Abseil looks for cycles at each lock that gRPC takes: help for who
  // develops gRPC, at some percent of every call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::unique_ptr<GrpcServer> made(new GrpcServer(options));
  auto acceptor = Acceptor::Listen({.setting = options.setting,
                                    .address = options.address,
                                    .connections_max = options.connections_max,
                                    .connections_per_peer_max = options.connections_per_peer_max,
                                    .on_refused = options.on_refused,
                                    .patience = options.patience});
  if (!acceptor.ok()) return acceptor.status();
  grpc::ServerBuilder builder;
  SetLimits(builder, options);
  // Shared with the acceptor's thread, which may be at it when this server is given up.
  using Builder = grpc::ServerBuilder::experimental_type;
  const std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> connections =
      builder.experimental().AddExternalConnectionAcceptor(Builder::ExternalConnectionType::FROM_FD,
                                                           made->credentials_);
  builder.RegisterService(&service);
  builder.RegisterService(&made->health_);
  for (grpc::Service* each : made->reflection_.services()) builder.RegisterService(each);
  for (int i = 0; i < options.queues; ++i) {
    made->queues_.push_back(std::make_unique<CallQueue>(builder.AddCompletionQueue(),
                                                        options.callers, options.patience));
  }
  made->server_ = builder.BuildAndStart();
  if (made->server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat(options.setting, ": gRPC doesn't start"));
  }
  made->Start(options.accept);
  made->acceptor_ = *std::move(acceptor);
  made->acceptor_->Start([connections](int fd, int listener) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener;
    connection.fd = fd;
    connections->HandleNewConnection(&connection);
  });
  return made;
}

GrpcServer::GrpcServer(const Options& options)
    : health_(options.service_name),
      reflection_({options.service_name, health_v1::Health::service_full_name()}),
      credentials_(options.credentials != nullptr ? options.credentials
                                                  : grpc::InsecureServerCredentials()) {}

GrpcServer::~GrpcServer() { Shutdown(); }

void GrpcServer::Start(const CallQueue::Accept& accept) {
  // One queue is enough for what is rare.
  queues_[0]->Start([this, accept](CallQueue& queue) {
    accept(queue);
    health_.Accept(queue);
    reflection_.Accept(queue);
  });
  for (std::size_t i = 1; i < queues_.size(); ++i) queues_[i]->Start(accept);
}

absl::Status GrpcServer::Alive() {
  if (!acceptor_->Alive()) return absl::UnavailableError("the acceptor hangs");
  for (const auto& queue : queues_) {
    if (!queue->Alive()) return absl::UnavailableError("a call queue hangs");
  }
  return absl::OkStatus();
}

void GrpcServer::StopServing() { health_.StopServing(); }

void GrpcServer::Shutdown() {
  if (server_ == nullptr || std::exchange(shut_down_, true)) return;
  if (acceptor_ != nullptr) acceptor_->Stop();
  health_.EndWatches();
  for (const auto& queue : queues_) queue->Hasten();
  // gRPC wants an absolute time on its own clock.
  const gpr_timespec rest = gpr_time_from_millis(kShutdownMs, GPR_TIMESPAN);
  server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), rest));
  for (const auto& queue : queues_) queue->Join();
}

}  // namespace onced
