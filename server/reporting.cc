#include "server/reporting.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace onced {
namespace {

constexpr std::pair<GaugeFamily, RocksFigure> kStoreGauges[] = {
    {kStoreDelayedWriteGauge, RocksFigure::kDelayedWriteRate},
    {kStoreWriteStoppedGauge, RocksFigure::kWriteStopped},
    {kStoreCompactionsGauge, RocksFigure::kRunningCompactions},
    {kStoreFlushesGauge, RocksFigure::kRunningFlushes},
    {kStorePendingCompactionGauge, RocksFigure::kPendingCompactionBytes},
    {kStoreBackgroundErrorsGauge, RocksFigure::kBackgroundErrors},
    {kStoreLevel0FilesGauge, RocksFigure::kLevel0Files},
    {kStoreMemtableGauge, RocksFigure::kMemtableBytes},
    {kStoreBlockCacheGauge, RocksFigure::kBlockCacheBytes},
    {kStoreBlockCacheCapacityGauge, RocksFigure::kBlockCacheCapacityBytes},
    {kStoreTableFilesGauge, RocksFigure::kTableFilesBytes},
    {kStoreLogGauge, RocksFigure::kLogBytes}};
constexpr std::pair<CounterFamily, RocksFigure> kStoreCounters[] = {
    {kStoreBlockCacheHitsCounter, RocksFigure::kBlockCacheHits},
    {kStoreBlockCacheMissesCounter, RocksFigure::kBlockCacheMisses},
    {kStoreStallCounter, RocksFigure::kStallMicros},
    {kStoreCompactionReadCounter, RocksFigure::kCompactionReadBytes},
    {kStoreCompactionWrittenCounter, RocksFigure::kCompactionWrittenBytes},
    {kStoreFlushedCounter, RocksFigure::kFlushedBytes},
    {kStoreLogWrittenCounter, RocksFigure::kLogWrittenBytes}};

}  // namespace

void LogSettings(Log& log, const Config& config, const char* version) {
  const bool fsync = config.durability == Config::Durability::kFsync;
  const bool clients_may_lack_one =
      config.tls_client_auth == Config::TlsClientAuth::kRequest || config.tls_client_ca.empty();
  log.Info("settings", {{"version", version},
                        {"config", config.config},
                        {"data_dir", config.data_dir},
                        {"listen", ToText(config.listen)},
                        {"http_listen", ToText(config.http_listen)},
                        {"admin_listen",
                         config.admin_listen.has_value() ? ToText(*config.admin_listen) : "off"},
                        {"shards", config.shards.value_or(0)},
                        {"executors", config.executors},
                        {"durability", fsync ? "fsync" : "process"},
                        {"queue_max", config.queue_max},
                        {"settle_queue_max", config.settle_queue_max},
                        {"queue_wait_max", config.queue_wait_max},
                        {"connections_max", config.connections_max},
                        {"connections_per_peer_max", config.connections_per_peer_max},
                        {"restart_grace", config.restart_grace},
                        {"drain_window", config.drain_window},
                        {"shutdown_grace", config.shutdown_grace},
                        {"max_downtime", config.max_downtime},
                        {"clock_tolerance", config.clock_tolerance},
                        {"accept_clock", config.accept_clock},
                        {"reclaim_grace", config.reclaim_grace},
                        {"sweep_interval", config.sweep_interval},
                        {"sweep_rate", config.sweep_bytes_per_second},
                        {"disk_floor", config.disk_floor_bytes},
                        {"backup_dir", config.backup_dir},
                        {"backup_keep", config.backup_keep},
                        {"backup_rate", config.backup_rate_bytes},
                        {"memory_budget", config.memory_budget_bytes},
                        {"tls_cert", config.tls_cert},
                        {"tls_key", config.tls_key},
                        {"tls_client_ca", config.tls_client_ca},
                        {"tls_client_auth", clients_may_lack_one ? "request" : "require"},
                        {"token_file", config.token_file},
                        {"reload_interval", config.reload_interval},
                        {"access", config.access.size()},
                        {"insecure", config.insecure},
                        {"core_dumps", config.core_dumps},
                        {"otlp_endpoint", config.otlp_endpoint},
                        {"otlp_headers_file", config.otlp_headers_file},
                        {"trace_sample_ratio", config.trace_sample_ratio},
                        {"namespaces", config.namespaces.size()},
                        {"unlisted_namespaces", config.unlisted_policy.has_value()}});
}

void AddGauges(PrometheusTelemetry& telemetry, const ShardSet& shards, const RocksStore& store,
               const BelievedClock& clock, const Sweep& sweep) {
  for (std::size_t i = 0; i < shards.executor_count(); ++i) {
    telemetry.AddGauge(kQueueDepthGauge, {{"executor", absl::StrCat(i)}},
                       [&shards, i] { return static_cast<double>(shards.queue_depth(i)); });
  }
  telemetry.AddGauge(kWaitersGauge, {}, [&] { return static_cast<double>(shards.waiters()); });
  telemetry.AddGauge(kStoredKeysGauge, {},
                     [&] { return static_cast<double>(store.EstimateKeys()); });
  for (const auto& [family, figure] : kStoreGauges) {
    telemetry.AddGauge(family, {}, [&store, figure = figure] {
      return static_cast<double>(store.Figure(figure));
    });
  }
  for (const auto& [family, figure] : kStoreCounters) {
    const double unit = figure == RocksFigure::kStallMicros ? 1e-6 : 1;
    telemetry.AddCounter(family, {}, [&store, figure = figure, unit] {
      return unit * static_cast<double>(store.Figure(figure));
    });
  }
  telemetry.AddGauge(kDiskFreeGauge, {}, [&] { return static_cast<double>(store.FreeBytes()); });
  telemetry.AddGauge(kDiskLowGauge, {}, [&] { return store.LowOnSpace() ? 1.0 : 0.0; });
  telemetry.AddGauge(kClockStepGauge, {}, [&] { return absl::ToDoubleSeconds(clock.Step()); });
  telemetry.AddGauge(kClockFollowedGauge, {},
                     [&] { return clock.Step() == absl::ZeroDuration() ? 1.0 : 0.0; });
  telemetry.AddGauge(kClockTimeGauge, {},
                     [&] { return absl::ToDoubleSeconds(clock.Now() - absl::UnixEpoch()); });
  telemetry.AddGauge(kClockMarkGauge, {},
                     [&] { return absl::ToDoubleSeconds(store.clock_mark() - absl::UnixEpoch()); });
  telemetry.AddGauge(kReclaimableGauge, {},
                     [&] { return static_cast<double>(sweep.useless_bytes()); });
  telemetry.AddGauge(kLastSweepGauge, {},
                     [&] { return absl::ToDoubleSeconds(sweep.last_ended() - absl::UnixEpoch()); });
}

absl::StatusOr<std::unique_ptr<OtlpExporter>> StartExporter(const Config& config,
                                                            const char* version, Random& random,
                                                            Log& log) {
  if (config.otlp_endpoint.empty()) return nullptr;
  return OtlpExporter::Start({.endpoint = config.otlp_endpoint,
                              .headers_file = config.otlp_headers_file,
                              .version = version},
                             random, log);
}

void AddSpanCounters(PrometheusTelemetry& telemetry, const OtlpExporter* exporter) {
  const auto add = [&](const CounterFamily& family, MetricLabels labels,
                       std::atomic<std::uint64_t> SpanCounts::*count) {
    telemetry.AddCounter(family, std::move(labels), [exporter, count] {
      return exporter == nullptr ? 0.0 : static_cast<double>((exporter->counts().*count).load());
    });
  };
  add(kSpansExportedCounter, {}, &SpanCounts::exported);
  add(kSpansDroppedCounter, {{"reason", "queue_full"}}, &SpanCounts::queue_full);
  add(kSpansDroppedCounter, {{"reason", "rejected"}}, &SpanCounts::rejected);
  add(kSpansDroppedCounter, {{"reason", "unreachable"}}, &SpanCounts::unreachable);
  add(kSpansDroppedCounter, {{"reason", "shutdown"}}, &SpanCounts::shutdown);
}

}  // namespace onced
