#include "server/observe/prometheus_telemetry.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>

#include "server/base/check.h"
#include "server/observe/call_status_name.h"
#include "server/observe/callback_metrics.h"
#include "server/observe/rpc_metrics.h"

namespace onced {
namespace {

using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

// A reason that nobody announced: it is counted, but can't make a new series.
constexpr char kOtherReason[] = "OTHER";
// No namespace is called so: a name begins with a letter or digit.
constexpr char kOtherNamespaces[] = "_other";
constexpr char kRfc3339[] = "%E4Y-%m-%d%ET%H:%M:%E6SZ";

// Seconds. From a replay out of memory to a call that waits for a slow disk.
const Buckets& DurationBuckets() {
  static const Buckets buckets = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                  0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
  return buckets;
}
// Seconds, up to the longest wait that the protocol allows.
const Buckets& WaitBuckets() {
  static const Buckets buckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                  1,     2.5,  5,     10,   20,  30,   60};
  return buckets;
}
// Seconds, of what waits for a person: up to a month.
const Buckets& AgeBuckets() {
  static const Buckets buckets = {1, 10, 60, 600, 3'600, 21'600, 86'400, 604'800, 2'592'000};
  return buckets;
}
// Bytes, up to two batches of the committer's bound.
const Buckets& BytesBuckets() {
  static const Buckets buckets = {256,     1 << 10, 1 << 12, 1 << 14, 1 << 16,
                                  1 << 18, 1 << 20, 1 << 22, 1 << 24};
  return buckets;
}
// Requests.
const Buckets& DrainBuckets() {
  static const Buckets buckets = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
  return buckets;
}

const char* NameOf(Method method) {
  switch (method) {
    case Method::kReserve:
      return "reserve";
    case Method::kCommit:
      return "commit";
    case Method::kRelease:
      return "release";
    case Method::kExtend:
      return "extend";
    case Method::kInspect:
      return "inspect";
    case Method::kBatch:
      return "batch";
    case Method::kSession:
      return "session";
  }
  __builtin_unreachable();
}

const char* NameOf(LapseEnd end) {
  switch (end) {
    case LapseEnd::kTakeover:
      return "takeover";
    case LapseEnd::kCommit:
      return "commit";
    case LapseEnd::kRelease:
      return "release";
    case LapseEnd::kExtend:
      return "extend";
  }
  __builtin_unreachable();
}

// Verdicts are Reserve's, kOk is everybody else's.
bool CanEnd(Method method, CallStatus status) {
  if (status == CallStatus::kError) return true;
  return (method == Method::kReserve) == (status != CallStatus::kOk);
}

// Reasons that an operator wants to see in the log; the others are the callers' business.
bool IsOfTheServer(absl::string_view reason) {
  return reason == "QUEUE_FULL" || reason == "DISK_FULL";
}

std::size_t Index(Method method) { return static_cast<std::size_t>(method); }
std::size_t Index(CallStatus status) { return static_cast<std::size_t>(status); }

prometheus::Labels ToLabels(const MetricLabels& labels) { return {labels.begin(), labels.end()}; }

Histogram* MakeHistogram(prometheus::Registry& registry, const char* name, const char* help,
                         const Buckets& buckets) {
  return &prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

prometheus::Counter* MakeCounter(prometheus::Registry& registry, const char* name,
                                 const char* help) {
  return &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge* MakeGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return &prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

PrometheusTelemetry::PrometheusTelemetry(const Options& options, Log& log)
    : log_(log),
      registry_(std::make_unique<prometheus::Registry>()),
      asked_(std::make_unique<CallbackMetrics>()),
      rpcs_(std::make_unique<RpcMetrics>(*registry_, options.time_source)) {
  MakeRequestMetrics();
  MakeErrorMetrics(options.reasons);
  MakeWorkMetrics();
  MakeBackupMetrics();
  MakeInfoMetrics(options);
  MakeNamespaceMetrics(options.namespaces);
}

PrometheusTelemetry::~PrometheusTelemetry() = default;

void PrometheusTelemetry::MakeRequestMetrics() {
  auto& requests = prometheus::BuildCounter()
                       .Name("idempotency_requests_total")
                       .Help(
                           "Calls and messages of sessions that ended, and operations in them, by "
                           "method and how they ended.")
                       .Register(*registry_);
  auto& durations = prometheus::BuildHistogram()
                        .Name("idempotency_request_duration_seconds")
                        .Help(
                            "Time from a whole request to its answer, without the time for which "
                            "it waited for a holder.")
                        .Register(*registry_);
  for (const Method method : kMethods) {
    const prometheus::Labels labels = {{"method", NameOf(method)}};
    durations_[Index(method)] = &durations.Add(labels, DurationBuckets());
    for (const CallStatus status : kCallStatuses) {
      if (!CanEnd(method, status)) continue;
      requests_[Index(method)][Index(status)] =
          &requests.Add({{"method", NameOf(method)}, {"status", NameOf(status)}});
    }
  }
  wait_ =
      MakeHistogram(*registry_, "idempotency_wait_duration_seconds",
                    "Time for which Reserve calls were parked, of those that were.", WaitBuckets());
}

void PrometheusTelemetry::MakeErrorMetrics(const std::vector<std::string>& reasons) {
  auto& errors = prometheus::BuildCounter()
                     .Name("idempotency_errors_total")
                     .Help("Calls with status error, by method and reason.")
                     .Register(*registry_);
  const auto make = [&](const std::string& reason) {
    for (const Method method : kMethods) {
      errors_[reason][Index(method)] =
          &errors.Add({{"method", NameOf(method)}, {"reason", reason}});
    }
  };
  for (const std::string& reason : reasons) make(reason);
  make(kOtherReason);
}

void PrometheusTelemetry::MakeWorkMetrics() {
  sync_ = MakeHistogram(*registry_, "idempotency_store_sync_duration_seconds",
                        "Time to make one batch of changes durable.", DurationBuckets());
  queue_wait_ = MakeHistogram(*registry_, "idempotency_queue_wait_seconds",
                              "Time for which the oldest request of a drained queue had waited.",
                              DurationBuckets());
  drained_ =
      MakeHistogram(*registry_, "idempotency_drained_requests",
                    "Requests that an executor took from its queue at once.", DrainBuckets());
  write_changes_ = MakeHistogram(*registry_, "idempotency_store_write_changes",
                                 "Changes in one write to the store's log.", DrainBuckets());
  write_bytes_ = MakeHistogram(*registry_, "idempotency_store_write_bytes",
                               "Bytes in one write to the store's log.", BytesBuckets());
  write_duration_ =
      MakeHistogram(*registry_, "idempotency_store_write_duration_seconds",
                    "Time of one write to the store's log and its sync.", DurationBuckets());
  auto& lapses = prometheus::BuildCounter()
                     .Name("idempotency_lapses_total")
                     .Help("Leases that ran out, by what came of the reservation, once it had.")
                     .Register(*registry_);
  for (const LapseEnd end : kLapseEnds) {
    lapses_[static_cast<std::size_t>(end)] = &lapses.Add({{"end", NameOf(end)}});
  }
  unresolved_age_ = MakeHistogram(
      *registry_, "idempotency_unresolved_age_seconds",
      "Time since the lease of a reservation ran out that is held, for each Reserve that met one.",
      AgeBuckets());
  store_failures_ =
      MakeCounter(*registry_, "idempotency_store_failures_total",
                  "Writes and syncs of the store that failed, and records that could not be read.");
  MakeSweepMetrics();
}

void PrometheusTelemetry::MakeSweepMetrics() {
  sweeps_ = MakeCounter(*registry_, "idempotency_sweeps_total",
                        "Sweeps for the space of expired records that ended.");
  sweep_failures_ = MakeCounter(*registry_, "idempotency_sweep_failures_total",
                                "Those that failed, or had no room for all that they had to do.");
  rewritten_bytes_ = MakeCounter(*registry_, "idempotency_sweep_rewritten_bytes_total",
                                 "Size of the files that sweeps rewrote.");
  given_back_bytes_ = MakeCounter(*registry_, "idempotency_sweep_given_back_bytes_total",
                                  "Space that was given back by that.");
}

void PrometheusTelemetry::MakeBackupMetrics() {
  backup_failures_ = MakeCounter(*registry_, "idempotency_backup_failures_total",
                                 "Backups that had begun and failed, or were found damaged.");
  backup_time_ = MakeGauge(*registry_, "idempotency_backup_time_seconds",
                           "Cut of the newest verified backup, in seconds since 1970; 0: none.");
  backup_duration_ =
      MakeGauge(*registry_, "idempotency_backup_duration_seconds",
                "How long the newest backup took; 0: none was made since the process started.");
  backup_bytes_ =
      MakeGauge(*registry_, "idempotency_backup_size_bytes",
                "Size of the newest verified backup, with what it shares with earlier ones.");
}

void PrometheusTelemetry::MakeInfoMetrics(const Options& options) {
  prometheus::BuildGauge()
      .Name("idempotency_build_info")
      .Help("Always 1; the labels say what is running.")
      .Register(*registry_)
      .Add(ToLabels(options.build_info))
      .Set(1);
  prometheus::BuildGauge()
      .Name("process_start_time_seconds")
      .Help("When the process started, in seconds since 1970.")
      .Register(*registry_)
      .Add({})
      .Set(absl::ToDoubleSeconds(options.start_time - absl::UnixEpoch()));
}

void PrometheusTelemetry::MakeNamespaceMetrics(const std::vector<std::string>& namespaces) {
  auto& verdicts = prometheus::BuildCounter()
                       .Name("idempotency_namespace_verdicts_total")
                       .Help("Reserves that were judged, by namespace and verdict.")
                       .Register(*registry_);
  const auto make = [&](const std::string& name_space) {
    verdicts_.emplace_back();
    for (const CallStatus status : kCallStatuses) {
      if (status == CallStatus::kError || !CanEnd(Method::kReserve, status)) continue;
      verdicts_.back()[Index(status)] =
          &verdicts.Add({{"namespace", name_space}, {"verdict", NameOf(status)}});
    }
  };
  make(kOtherNamespaces);
  for (const std::string& name_space : namespaces) make(name_space);
}

void PrometheusTelemetry::AddGauge(const GaugeFamily& family, MetricLabels labels,
                                   std::function<double()> value) {
  asked_->Add({family.name, family.help, prometheus::MetricType::Gauge}, std::move(labels),
              std::move(value));
}

void PrometheusTelemetry::AddCounter(const CounterFamily& family, MetricLabels labels,
                                     std::function<double()> value) {
  asked_->Add({family.name, family.help, prometheus::MetricType::Counter}, std::move(labels),
              std::move(value));
}

std::string PrometheusTelemetry::Scrape() const {
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  for (prometheus::MetricFamily& family : asked_->Collect()) {
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

void PrometheusTelemetry::CallEnded(Method method, CallStatus status, absl::Duration latency,
                                    absl::Duration waited) {
  prometheus::Counter* counter = requests_[Index(method)][Index(status)];
  ONCED_CHECK(counter != nullptr);  // A verdict on something else than a Reserve.
  counter->Increment();
  durations_[Index(method)]->Observe(absl::ToDoubleSeconds(latency));
  if (waited > absl::ZeroDuration()) wait_->Observe(absl::ToDoubleSeconds(waited));
}

void PrometheusTelemetry::CallRefused(Method method, absl::string_view reason) {
  if (IsOfTheServer(reason)) {
    log_.WriteLimited(LogLevel::kWarn, "calls_refused",
                      {{"reason", reason}, {"method", NameOf(method)}});
  }
  auto found = errors_.find(reason);
  if (found == errors_.end()) found = errors_.find(kOtherReason);
  found->second[Index(method)]->Increment();
}

void PrometheusTelemetry::Drained(std::size_t requests, absl::Duration queue_wait) {
  drained_->Observe(static_cast<double>(requests));
  queue_wait_->Observe(absl::ToDoubleSeconds(queue_wait));
}

void PrometheusTelemetry::Synced(absl::Duration duration) {
  sync_->Observe(absl::ToDoubleSeconds(duration));
}

void PrometheusTelemetry::StoreFailed(absl::string_view what) {
  store_failures_->Increment();
  log_.WriteLimited(LogLevel::kError, "store_failed", {{"error", what}});
}

void PrometheusTelemetry::LapseEnded(LapseEnd end) {
  lapses_[static_cast<std::size_t>(end)]->Increment();
}

RpcTelemetry* PrometheusTelemetry::OfRpc(const RpcName& name) { return rpcs_->Of(name); }

void PrometheusTelemetry::Judged(NamespaceId name_space, CallStatus verdict) {
  prometheus::Counter* counter = verdicts_[name_space.value][Index(verdict)];
  ONCED_CHECK(counter != nullptr);  // No verdict.
  counter->Increment();
}

void PrometheusTelemetry::MetUnresolved(absl::Duration age) {
  unresolved_age_->Observe(absl::ToDoubleSeconds(age));
}

void PrometheusTelemetry::Wrote(std::size_t changes, std::size_t bytes, absl::Duration duration) {
  write_changes_->Observe(static_cast<double>(changes));
  write_bytes_->Observe(static_cast<double>(bytes));
  write_duration_->Observe(absl::ToDoubleSeconds(duration));
}

void PrometheusTelemetry::BackupFailed(absl::string_view what, absl::Duration duration) {
  backup_failures_->Increment();
  log_.Error("backup_failed", {{"error", what}, {"duration", duration}});
}

void PrometheusTelemetry::BackupMade(const BackupReport& report, absl::Duration duration) {
  BackupFound(report);
  backup_duration_->Set(absl::ToDoubleSeconds(duration));
  log_.Info("backup_made",
            {{"backup_id", report.id},
             {"cut_time", absl::FormatTime(kRfc3339, report.cut_time, absl::UTCTimeZone())},
             {"size_bytes", report.size_bytes},
             {"file_count", report.file_count},
             {"duration", duration}});
}

void PrometheusTelemetry::BackupFound(const BackupReport& report) {
  backup_time_->Set(absl::ToDoubleSeconds(report.cut_time - absl::UnixEpoch()));
  backup_bytes_->Set(static_cast<double>(report.size_bytes));
}

void PrometheusTelemetry::ClockAccepted(absl::Duration step) {
  log_.Warn("clock_step_accepted", {{"step", step}});
}

void PrometheusTelemetry::Rewritten(std::uint64_t bytes, std::uint64_t given_back) {
  rewritten_bytes_->Increment(static_cast<double>(bytes));
  given_back_bytes_->Increment(static_cast<double>(given_back));
}

void PrometheusTelemetry::Swept(absl::string_view error) {
  sweeps_->Increment();
  if (error.empty()) return;
  sweep_failures_->Increment();
  log_.WriteLimited(LogLevel::kWarn, "sweep_failed", {{"error", error}});
}

}  // namespace onced
