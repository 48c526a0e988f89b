// What a trace shows of a call.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "google/rpc/status.pb.h"
#include "server/base/span.h"
#include "server/base/telemetry.h"
#include "server/base/trace_context.h"
#include "server/base/tracer.h"
#include "server/ledger/operation.h"
#include "server/shard/request.h"
#include "server/shard/shard_set.h"

namespace onced {

// The name of a method in the API, such as "Reserve".
const char* NameOf(Method method);

// The caller's, from the call's metadata; nullopt if there is none, or it is malformed.
std::optional<TraceContext> TraceContextOf(const grpc::ServerContextBase& context);

// The span of a call, or of a message of a session, from its beginning to End(). Nothing,
// and as cheap, if it is not traced.
// Threads:  one at a time.
// Lifetime: the tracer outlives it.
class CallTrace {
 public:
  CallTrace() = default;
  // `tracer` is nullptr where nothing is traced: neither the call's metadata nor the clock is
  // looked at then.
  CallTrace(Tracer* tracer, const std::optional<TraceContext>& context, Method method,
            const ShardSet& shards);
  CallTrace(Tracer* tracer, const grpc::ServerContextBase& context, Method method,
            const ShardSet& shards)
      : CallTrace(tracer, tracer != nullptr ? TraceContextOf(context) : std::nullopt, method,
                  shards) {}

  explicit operator bool() const { return span_ != nullptr; }

  // What it grants or commits will name this call.
  void Mark(Operation& operation) const;

  // ---- Of a single call ----
  void SetNamespace(const Request& request) {
    if (span_ != nullptr) span_->name_space = request.key.name_space;
  }
  void End(const Answer& answer, absl::Time now);

  // ---- Of several operations, one after the other ----
  // `reply` is nullptr of one that was refused unexecuted.
  void Count(CallStatus status, const Reply* reply);
  void End(absl::Time now);

  // ---- Of either, instead ----
  void End(const google::rpc::Status& error, absl::Time now);

 private:
  Tracer* tracer_ = nullptr;
  std::unique_ptr<Span> span_;
};

}  // namespace onced
