// Telemetry that nobody takes note of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/base/telemetry.h"

namespace onced {

// The fake for users has nobody to tell; in tests, who derives from it says what counts.
// Threads: any.
class QuietTelemetry : public Telemetry {
 public:
  void CallEnded(Method, CallStatus, absl::Duration, absl::Duration) override {}
  void CallRefused(Method, absl::string_view) override {}
  void Drained(std::size_t, absl::Duration) override {}
  void Synced(absl::Duration) override {}
  void StoreFailed(absl::string_view) override {}
  void LapseEnded(LapseEnd) override {}
  void Rewritten(std::uint64_t, std::uint64_t) override {}
  void Swept(absl::string_view) override {}
};

}  // namespace onced
