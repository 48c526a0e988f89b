// Counts what the shards report.
#pragma once

#include <atomic>
#include <cstddef>

#include "tests/support/quiet_telemetry.h"

namespace onced {

// Threads: any.
class CountingTelemetry final : public QuietTelemetry {
 public:
  void Drained(std::size_t requests, absl::Duration) override {
    ++drains;
    drained += requests;
  }
  void StoreFailed(absl::string_view) override { ++store_failures; }
  void TakenOver() override { ++takeovers; }

  std::atomic<std::size_t> drains{0};
  std::atomic<std::size_t> drained{0};
  std::atomic<std::size_t> store_failures{0};
  std::atomic<std::size_t> takeovers{0};
};

}  // namespace onced
