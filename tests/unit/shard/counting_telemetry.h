// Counts what the shards report.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/base/quiet_telemetry.h"

namespace onced {

// Threads: any.
class CountingTelemetry final : public QuietTelemetry {
 public:
  void Drained(std::size_t requests, absl::Duration) override {
    ++drains;
    drained += requests;
  }
  void StoreFailed(absl::string_view) override { ++store_failures; }
  void LapseEnded(LapseEnd end) override {
    if (end == LapseEnd::kTakeover) ++takeovers;
    ++lapses[static_cast<std::size_t>(end)];
  }
  void Judged(NamespaceId name_space, CallStatus verdict) override {
    const MutexLock lock(mutex);
    ++judged[{name_space.value, verdict}];
  }
  void MetUnresolved(absl::Duration age) override {
    const MutexLock lock(mutex);
    unresolved.push_back(age);
  }

  std::atomic<std::size_t> drains{0};
  std::atomic<std::size_t> drained{0};
  std::atomic<std::size_t> store_failures{0};
  std::atomic<std::size_t> takeovers{0};
  std::array<std::atomic<std::size_t>, std::size(kLapseEnds)> lapses{};
  Mutex mutex;
  std::map<std::pair<std::uint32_t, CallStatus>, std::size_t> judged ABSL_GUARDED_BY(mutex);
  std::vector<absl::Duration> unresolved ABSL_GUARDED_BY(mutex);  // Their ages.
};

}  // namespace onced
