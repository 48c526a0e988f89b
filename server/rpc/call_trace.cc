#include "server/rpc/call_trace.h"

#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "idempotency/v1/idempotency.grpc.pb.h"
#include "server/ledger/call_status.h"
#include "server/rpc/errors.h"

namespace onced {
namespace {

absl::string_view ViewOf(const grpc::string_ref& text) { return {text.data(), text.size()}; }

// The call that holds or committed the key, if it was traced.
TraceRef OtherOf(const Reply& reply) {
  if (const auto* replayed = std::get_if<Replayed>(&reply)) return replayed->trace;
  if (const auto* conflict = std::get_if<Conflict>(&reply)) return conflict->holder.trace;
  if (const auto* mismatch = std::get_if<Mismatch>(&reply)) return mismatch->holder.trace;
  if (const auto* unresolved = std::get_if<Unresolved>(&reply)) return unresolved->holder.trace;
  return {};
}

}  // namespace

const char* NameOf(Method method) {
  switch (method) {
    case Method::kReserve:
      return "Reserve";
    case Method::kCommit:
      return "Commit";
    case Method::kRelease:
      return "Release";
    case Method::kExtend:
      return "Extend";
    case Method::kInspect:
      return "Inspect";
    case Method::kBatch:
      return "Batch";
    case Method::kSession:
      return "Session";
  }
  __builtin_unreachable();
}

std::optional<TraceContext> TraceContextOf(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto [first, end] = metadata.equal_range("traceparent");
  if (first == end || std::next(first) != end) return std::nullopt;  // None, or several.
  std::optional<TraceContext> parsed = ParseTraceparent(ViewOf(first->second));
  if (!parsed.has_value()) return std::nullopt;
  const auto states = metadata.equal_range("tracestate");
  for (auto at = states.first; at != states.second; ++at) {
    if (!parsed->state.empty()) parsed->state.push_back(',');
    parsed->state.append(at->second.data(), at->second.size());
  }
  if (!IsTracestate(parsed->state)) parsed->state.clear();
  return parsed;
}

CallTrace::CallTrace(Tracer* tracer, const std::optional<TraceContext>& context, Method method,
                     const ShardSet& shards)
    : tracer_(tracer) {
  if (tracer == nullptr) return;
  span_ = tracer->Begin(context, shards.Now());
  if (span_ == nullptr) return;
  span_->service = idempotency::v1::IdempotencyService::service_full_name();
  span_->method = NameOf(method);
}

void CallTrace::Mark(Operation& operation) const {
  if (span_ == nullptr) return;
  if (auto* reserve = std::get_if<ReserveOp>(&operation)) reserve->trace = span_->self;
  if (auto* commit = std::get_if<CommitOp>(&operation)) commit->trace = span_->self;
}

void CallTrace::End(const Answer& answer, absl::Time now) {
  if (span_ == nullptr) return;
  span_->outcome = CallStatusOf(answer.reply);
  span_->waited = answer.waited;
  // A call that waited was judged at its end, whatever it was queued for.
  if (answer.waited == absl::ZeroDuration()) span_->queued = answer.server_time - span_->started;
  span_->LinkTo(OtherOf(answer.reply));
  tracer_->End(std::move(span_), now);
}

void CallTrace::Count(CallStatus status, const Reply* reply) {
  if (span_ == nullptr) return;
  if (!span_->operations.has_value()) span_->operations.emplace();
  ++(*span_->operations)[static_cast<std::size_t>(status)];
  if (reply != nullptr) span_->LinkTo(OtherOf(*reply));
}

void CallTrace::End(absl::Time now) {
  if (span_ != nullptr) tracer_->End(std::move(span_), now);
}

void CallTrace::End(const google::rpc::Status& error, absl::Time now) {
  if (span_ == nullptr) return;
  span_->code = error.code();
  span_->reason = ReasonOf(error);
  tracer_->End(std::move(span_), now);
}

}  // namespace onced
