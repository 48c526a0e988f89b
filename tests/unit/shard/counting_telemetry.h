// Counts what the shards report.
#pragma once

#include <atomic>
#include <cstddef>

#include "server/base/telemetry.h"

namespace onced {

// Threads: any.
class CountingTelemetry final : public Telemetry {
 public:
  void CallEnded(Method, CallStatus, absl::Duration, absl::Duration) override {}
  void CallRefused(Method, absl::string_view) override {}
  void Drained(std::size_t requests, absl::Duration) override {
    ++drains;
    drained += requests;
  }
  void Synced(absl::Duration) override {}
  void StoreFailed(absl::string_view) override { ++store_failures; }
  void Rewritten(std::uint64_t /*bytes*/, std::uint64_t /*given_back*/) override {}
  void Swept(absl::string_view /*error*/) override {}
  void TakenOver() override { ++takeovers; }

  std::atomic<std::size_t> drains{0};
  std::atomic<std::size_t> drained{0};
  std::atomic<std::size_t> store_failures{0};
  std::atomic<std::size_t> takeovers{0};
};

}  // namespace onced
