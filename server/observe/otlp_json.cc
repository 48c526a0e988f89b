#include "server/observe/otlp_json.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/observe/call_status_name.h"
#include "server/observe/json.h"

namespace onced {
namespace {

constexpr int kKindServer = 2;
constexpr int kStatusError = 2;

// The codes of gRPC that are the server's fault, by OpenTelemetry's conventions for it.
bool IsServersFault(int code) {
  constexpr int kUnknown = 2;
  constexpr int kDeadlineExceeded = 4;
  constexpr int kUnimplemented = 12;
  constexpr int kInternal = 13;
  constexpr int kUnavailable = 14;
  constexpr int kDataLoss = 15;
  return code == kUnknown || code == kDeadlineExceeded || code == kUnimplemented ||
         code == kInternal || code == kUnavailable || code == kDataLoss;
}

template <std::size_t kSize>
std::string Hex(const std::array<std::uint8_t, kSize>& bytes) {
  return ToHex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// 64-bit numbers are strings in this encoding.
std::string Nanos(absl::Time time) { return absl::StrCat("\"", absl::ToUnixNanos(time), "\""); }

class Attributes {
 public:
  explicit Attributes(std::string& out) : out_(out) {}
  void Text(absl::string_view key, absl::string_view value) {
    Begin(key, "stringValue");
    AppendJsonString(value, out_);
    End();
  }
  void Whole(absl::string_view key, std::int64_t value) {
    Begin(key, "intValue");
    absl::StrAppend(&out_, "\"", value, "\"");
    End();
  }
  void Number(absl::string_view key, double value) {
    Begin(key, "doubleValue");
    AppendJsonNumber(value, out_);
    End();
  }
  void Truth(absl::string_view key, bool value) {
    Begin(key, "boolValue");
    out_.append(value ? "true" : "false");
    End();
  }

 private:
  void Begin(absl::string_view key, absl::string_view type) {
    absl::StrAppend(&out_, first_ ? "" : ",", "{\"key\":\"", key, "\",\"value\":{\"", type, "\":");
    first_ = false;
  }
  void End() { out_.append("}}"); }

  std::string& out_;
  bool first_ = true;
};

void AppendAttributes(const Span& span, std::string& out) {
  Attributes attributes(out);
  attributes.Text("rpc.system", "grpc");
  attributes.Text("rpc.service", span.service);
  attributes.Text("rpc.method", span.method);
  attributes.Whole("rpc.grpc.status_code", span.code);
  if (!span.reason.empty()) attributes.Text("error.type", span.reason);
  if (!span.name_space.empty()) attributes.Text("idempotency.namespace", span.name_space);
  if (span.outcome.has_value()) {
    attributes.Text("idempotency.outcome", absl::AsciiStrToUpper(NameOf(*span.outcome)));
    attributes.Truth("idempotency.replayed", *span.outcome == CallStatus::kReplayed);
  }
  if (span.queued.has_value()) {
    attributes.Number("idempotency.queue_seconds", absl::ToDoubleSeconds(*span.queued));
  }
  if (span.waited > absl::ZeroDuration()) {
    attributes.Number("idempotency.wait_seconds", absl::ToDoubleSeconds(span.waited));
  }
  if (!span.operations.has_value()) return;
  for (const CallStatus status : kCallStatuses) {
    const std::uint32_t count = (*span.operations)[static_cast<std::size_t>(status)];
    attributes.Whole(absl::StrCat("idempotency.operations.", NameOf(status)), count);
  }
}

void AppendSpan(const Span& span, std::string& out) {
  absl::StrAppend(&out, "{\"traceId\":\"", Hex(span.self.trace_id), "\",\"spanId\":\"",
                  Hex(span.self.span_id), "\"");
  if (span.parent != decltype(span.parent){}) {
    absl::StrAppend(&out, ",\"parentSpanId\":\"", Hex(span.parent), "\"");
  }
  if (!span.state.empty()) {
    out.append(",\"traceState\":");
    AppendJsonString(span.state, out);
  }
  absl::StrAppend(&out, ",\"name\":\"", span.service, "/", span.method, "\",\"kind\":", kKindServer,
                  ",\"startTimeUnixNano\":", Nanos(span.started),
                  ",\"endTimeUnixNano\":", Nanos(span.ended), ",\"attributes\":[");
  AppendAttributes(span, out);
  out.append("],\"links\":[");
  for (const TraceRef& link : span.links) {
    absl::StrAppend(&out, &link == span.links.data() ? "" : ",", "{\"traceId\":\"",
                    Hex(link.trace_id), "\",\"spanId\":\"", Hex(link.span_id), "\"}");
  }
  out.append("],\"status\":{");
  if (IsServersFault(span.code)) absl::StrAppend(&out, "\"code\":", kStatusError);
  out.append("}}");
}

}  // namespace

std::string OtlpRequestOf(const std::vector<std::unique_ptr<Span>>& spans,
                          absl::string_view service_version) {
  std::string out = "{\"resourceSpans\":[{\"resource\":{\"attributes\":[";
  Attributes resource(out);
  resource.Text("service.name", "onced");
  resource.Text("service.version", service_version);
  out.append("]},\"scopeSpans\":[{\"scope\":{\"name\":\"onced\",\"version\":");
  AppendJsonString(service_version, out);
  out.append("},\"spans\":[");
  for (const auto& span : spans) {
    if (&span != spans.data()) out.push_back(',');
    AppendSpan(*span, out);
  }
  out.append("]}]}]}");
  return out;
}

// Not a parser: a collector that sends something else gets its spans counted wrongly, no
// more.
std::uint64_t RejectedSpansIn(absl::string_view body) {
  constexpr absl::string_view kName = "\"rejectedSpans\"";
  const std::size_t at = body.find(kName);
  if (at == absl::string_view::npos) return 0;
  absl::string_view rest = body.substr(at + kName.size());
  const std::size_t digit = rest.find_first_not_of(" \t\r\n:\"");
  if (digit == absl::string_view::npos) return 0;
  rest = rest.substr(digit);
  rest = rest.substr(0, rest.find_first_not_of("0123456789"));
  std::uint64_t count = 0;
  return absl::SimpleAtoi(rest, &count) ? count : 0;
}

}  // namespace onced
