// Spans as OTLP's JSON has them (opentelemetry-proto 1.x, "JSON Protobuf Encoding").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/base/span.h"

namespace onced {

// The body of one request: an ExportTraceServiceRequest.
std::string OtlpRequestOf(const std::vector<std::unique_ptr<Span>>& spans,
                          absl::string_view service_version);

// How many spans the answer to it says were rejected. Whatever `body` holds.
std::uint64_t RejectedSpansIn(absl::string_view body);

}  // namespace onced
