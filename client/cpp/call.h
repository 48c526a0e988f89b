// What the clients' methods have in common.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cpp/error.h"
#include "client/cpp/raw_client.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/channel_arguments.h"

namespace onced::client {

// What gRPC is told of the connection.
grpc::ChannelArguments ArgumentsOf(const ConnectOptions& options);
std::shared_ptr<grpc::Channel> NewChannel(const std::string& target, const ConnectOptions& options);

// Of a header: more of them than fit would have the call refused. W3C Trace Context wants 512
// handed on at least.
inline constexpr std::size_t kTraceBytesMax = 1024;

// Unless it is empty or too long. gRPC ends the process over a value that is not printable.
inline void AddHeader(grpc::ClientContext& context, const char* name, const std::string& value) {
  const bool printable =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  const bool fits = !value.empty() && value.size() <= kTraceBytesMax;
  if (fits && printable) context.AddMetadata(name, value);
}

inline std::unique_ptr<grpc::ClientContext> NewContext(const CallOptions& options) {
  auto context = std::make_unique<grpc::ClientContext>();
  if (options.deadline != absl::InfiniteFuture()) {
    // gRPC takes one before 1970 as none at all.
    context->set_deadline(absl::ToChronoTime(std::max(options.deadline, absl::UnixEpoch())));
  }
  AddHeader(*context, "traceparent", options.traceparent);
  AddHeader(*context, "tracestate", options.tracestate);
  return context;
}

// One attempt, which blocks. Told to stop, it ends as CANCELLED.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request, const CallOptions& options) {
  const std::unique_ptr<grpc::ClientContext> context = NewContext(options);
  const std::stop_callback cancel(options.stop, [&context] { context->TryCancel(); });
  Response response;
  const grpc::Status status = (stub.*method)(context.get(), request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  return response;
}

}  // namespace onced::client
