// What the server tells of itself, told to nobody.
#pragma once

#include "server/base/audit.h"
#include "server/base/telemetry.h"

namespace onced::client {

// Threads: any.
class SilentTelemetry final : public Telemetry {
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

// Threads: any.
class SilentAuditLog final : public AuditLog {
 public:
  void Note(const AuditEntry&) override {}
};

}  // namespace onced::client
