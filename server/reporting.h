// What a running server tells of its parts: metrics that are asked for, spans, and how it
// was started.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/base/believed_clock.h"
#include "server/base/random.h"
#include "server/config/config.h"
#include "server/observe/log.h"
#include "server/observe/otlp_exporter.h"
#include "server/observe/prometheus_telemetry.h"
#include "server/shard/shard_set.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "server/storage/rocksdb/sweeper.h"

namespace onced {

// Every setting that is not a secret, as it is in effect.
void LogSettings(Log& log, const Config& config, const char* version);

// The parts outlive the last scrape.
void AddGauges(PrometheusTelemetry& telemetry, const ShardSet& shards, const RocksStore& store,
               const BelievedClock& clock, const Sweep& sweep);

// nullptr: nothing is traced.
absl::StatusOr<std::unique_ptr<OtlpExporter>> StartExporter(const Config& config,
                                                            const char* version, Random& random,
                                                            Log& log);
// All 0 if `exporter` is nullptr.
void AddSpanCounters(PrometheusTelemetry& telemetry, const OtlpExporter* exporter);

}  // namespace onced
