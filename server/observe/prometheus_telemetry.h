// Counts what the server tells of itself, for Prometheus. docs/metrics.md lists
// every metric.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/believed_clock.h"
#include "server/base/telemetry.h"
#include "server/observe/log.h"
#include "server/observe/metric_families.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace onced {

class CallbackMetrics;
class RpcMetrics;

// Labels of a series, in the order in which they are shown.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Threads:  all functions from any thread. The Telemetry functions take no lock
//           but a histogram's own, and allocate nothing.
// Lifetime: `log`, `time_source`, and what the gauges' functions refer to, must outlive it.
// Promise:  every series of the counters exists from the start, at 0.
class PrometheusTelemetry final : public Telemetry {
 public:
  struct Options {
    MetricLabels build_info;           // Such as {"version", "1.2.3"}.
    absl::Time start_time;             // Of the process.
    std::vector<std::string> reasons;  // All that CallRefused() may be given.
    // The configuration's, by their NamespaceIds, of which the first is 1.
    std::vector<std::string> namespaces;
    const TimeSource* time_source = nullptr;  // Of OfRpc(); nullptr: calls take no time.
  };

  PrometheusTelemetry(const Options& options, Log& log);
  ~PrometheusTelemetry() override;

  // `value` is called at each scrape, on the scraping thread. Gauges of one
  // family differ in their labels.
  void AddGauge(const GaugeFamily& family, MetricLabels labels, std::function<double()> value);

  void AddCounter(const CounterFamily& family, MetricLabels labels, std::function<double()> value);

  // Everything, in Prometheus' text format.
  std::string Scrape() const;

  void CallEnded(Method method, CallStatus status, absl::Duration latency,
                 absl::Duration waited) override;
  void CallRefused(Method method, absl::string_view reason) override;
  void Drained(std::size_t requests, absl::Duration queue_wait) override;
  void Synced(absl::Duration duration) override;
  void StoreFailed(absl::string_view what) override;
  void LapseEnded(LapseEnd end) override;
  void BackupFailed(absl::string_view what, absl::Duration duration) override;
  void BackupMade(const BackupReport& report, absl::Duration duration) override;
  void ClockAccepted(absl::Duration step) override;
  // Of the same method the same each time.
  RpcTelemetry* OfRpc(const RpcName& name) override;
  void Judged(NamespaceId name_space, CallStatus verdict) override;
  void MetUnresolved(absl::Duration age) override;
  void Wrote(std::size_t changes, std::size_t bytes, absl::Duration duration) override;
  // There is one from before this process started.
  void BackupFound(const BackupReport& report);
  void Rewritten(std::uint64_t bytes, std::uint64_t given_back) override;
  void Swept(absl::string_view error) override;

 private:
  static constexpr std::size_t kMethodCount = std::size(kMethods);
  static constexpr std::size_t kStatusCount = std::size(kCallStatuses);
  static constexpr std::size_t kLapseEndCount = std::size(kLapseEnds);

  void MakeRequestMetrics();
  void MakeErrorMetrics(const std::vector<std::string>& reasons);
  void MakeWorkMetrics();
  void MakeBackupMetrics();
  void MakeSweepMetrics();
  void MakeInfoMetrics(const Options& options);
  void MakeNamespaceMetrics(const std::vector<std::string>& namespaces);

  // Constant after construction; the metrics have locks of their own.
  Log& log_;
  const std::unique_ptr<prometheus::Registry> registry_;
  const std::unique_ptr<CallbackMetrics> asked_;
  const std::unique_ptr<RpcMetrics> rpcs_;
  // By NamespaceId and verdict; nullptr where a Reserve can't end so.
  std::vector<std::array<prometheus::Counter*, kStatusCount>> verdicts_;
  // By method and status; nullptr where the method can't end so.
  std::array<std::array<prometheus::Counter*, kStatusCount>, kMethodCount> requests_{};
  std::array<prometheus::Histogram*, kMethodCount> durations_{};
  absl::flat_hash_map<std::string, std::array<prometheus::Counter*, kMethodCount>> errors_;
  prometheus::Histogram* wait_ = nullptr;
  prometheus::Histogram* sync_ = nullptr;
  prometheus::Histogram* queue_wait_ = nullptr;
  prometheus::Histogram* unresolved_age_ = nullptr;
  prometheus::Histogram* drained_ = nullptr;
  prometheus::Histogram* write_changes_ = nullptr;
  prometheus::Histogram* write_bytes_ = nullptr;
  prometheus::Histogram* write_duration_ = nullptr;
  std::array<prometheus::Counter*, kLapseEndCount> lapses_{};
  prometheus::Counter* store_failures_ = nullptr;
  prometheus::Counter* backup_failures_ = nullptr;
  prometheus::Gauge* backup_time_ = nullptr;
  prometheus::Gauge* backup_duration_ = nullptr;
  prometheus::Gauge* backup_bytes_ = nullptr;
  prometheus::Counter* sweeps_ = nullptr;
  prometheus::Counter* sweep_failures_ = nullptr;
  prometheus::Counter* rewritten_bytes_ = nullptr;
  prometheus::Counter* given_back_bytes_ = nullptr;
};

}  // namespace onced
