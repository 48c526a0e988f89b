// One call, or one message of a session, as a trace shows it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/base/telemetry.h"
#include "server/base/trace_ref.h"

namespace onced {

// Holds no key, token, fingerprint or identity.
struct Span {
  // Of links to other traces; more are left out.
  static constexpr std::size_t kLinksMax = 32;

  TraceRef self;
  std::array<std::uint8_t, 8> parent{};  // All zero: it has none.
  std::string state;                     // The caller's tracestate.
  const char* service = "";              // "package.Service"
  const char* method = "";
  absl::Time started;
  absl::Time ended;
  int code = 0;        // gRPC's.
  std::string reason;  // Of an error.

  std::string name_space;             // Of a single call, once it is known to be one.
  std::optional<CallStatus> outcome;  // Of a single call.
  // Of a single call that was executed: how long it waited to be, and for a holder.
  std::optional<absl::Duration> queued;
  absl::Duration waited;
  // Of a batch or a message: how many operations ended how.
  std::optional<std::array<std::uint32_t, std::size(kCallStatuses)>> operations;

  std::vector<TraceRef> links;

  // To the call that holds or committed a key; not twice to one, nor to itself.
  void LinkTo(const TraceRef& other) {
    if (other.empty() || other == self || links.size() == kLinksMax) return;
    if (std::find(links.begin(), links.end(), other) == links.end()) links.push_back(other);
  }
};

// Threads: any.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  // Takes a span that has ended; never blocks.
  virtual void Take(std::unique_ptr<Span> span) = 0;
};

}  // namespace onced
