// What AddGauge() and AddCounter() are given: names by Prometheus' conventions, and help.
#pragma once

namespace onced {

// A metric whose value is asked for when it is scraped.
struct GaugeFamily {
  const char* name;
  const char* help;
};
// The same of a value that only grows, while the process lives.
struct CounterFamily {
  const char* name;
  const char* help;
};
inline constexpr GaugeFamily kQueueDepthGauge{"idempotency_queue_depth",
                                              "Requests that wait in an executor's queues."};
inline constexpr GaugeFamily kWaitersGauge{"idempotency_waiters",
                                           "Reserve calls that are parked until a holder is done."};
inline constexpr GaugeFamily kSessionsGauge{"idempotency_sessions", "Sessions that are open."};
inline constexpr GaugeFamily kConnectionsGauge{"idempotency_connections",
                                               "Connections that are open, by port."};
inline constexpr CounterFamily kConnectionsRefusedCounter{
    "idempotency_connections_refused_total",
    "Connections that were closed at once, by port and cause."};
inline constexpr CounterFamily kConnectionsEndedCounter{
    "idempotency_connections_ended_total",
    "Connections that were ended, since they sent what no client with manners does."};
inline constexpr GaugeFamily kCallBytesGauge{
    "idempotency_call_bytes",
    "Memory of requests in flight and of answers that clients have not taken yet."};
inline constexpr GaugeFamily kStoredKeysGauge{
    "idempotency_stored_keys",
    "Keys in the store, estimated; expired ones count until their space is reclaimed."};
inline constexpr GaugeFamily kClockStepGauge{
    "idempotency_clock_step_seconds",
    "How far the wall clock is ahead of the time that is believed; 0 while it is followed."};
inline constexpr GaugeFamily kDiskFreeGauge{"idempotency_disk_free_bytes",
                                            "Space that is left for the data directory."};
inline constexpr GaugeFamily kDiskLowGauge{
    "idempotency_disk_low", "1 while nothing new is granted, since the disk is nearly full."};
inline constexpr GaugeFamily kReclaimableGauge{
    "idempotency_reclaimable_bytes",
    "Space that expired records still took after the last sweep, estimated."};
inline constexpr GaugeFamily kLastSweepGauge{
    "idempotency_last_sweep_time_seconds",
    "When the last sweep ended, in seconds since 1970; 0: none has."};

inline constexpr GaugeFamily kCertificateExpiryGauge{
    "idempotency_tls_certificate_expiry_time_seconds",
    "When the certificate in use, or one that signed it, expires, in seconds since 1970; 0: no "
    "TLS."};
inline constexpr GaugeFamily kClientCaExpiryGauge{
    "idempotency_tls_client_ca_expiry_time_seconds",
    "When the last of the clients' authorities in use expires, in seconds since 1970; 0: none "
    "is asked for."};
inline constexpr CounterFamily kReloadsCounter{
    "idempotency_reloads_total",
    "Changed files that were taken while the server ran, or weren't since they are wrong."};
inline constexpr CounterFamily kAuthFailuresCounter{
    "idempotency_auth_failures_total", "Calls and sessions whose sender wasn't known, by cause."};

inline constexpr CounterFamily kProcessCpuCounter{
    "process_cpu_seconds_total", "Processor time that the process has used, of user and system."};
inline constexpr GaugeFamily kProcessResidentGauge{"process_resident_memory_bytes",
                                                   "Memory of the process that is resident."};
inline constexpr GaugeFamily kProcessVirtualGauge{"process_virtual_memory_bytes",
                                                  "Address space of the process."};
inline constexpr GaugeFamily kProcessThreadsGauge{"process_threads", "Threads of the process."};
inline constexpr GaugeFamily kProcessFdsGauge{"process_open_fds",
                                              "File descriptors that are open."};
inline constexpr GaugeFamily kProcessFdsMaxGauge{"process_max_fds",
                                                 "File descriptors that may be open."};

inline constexpr CounterFamily kSpansExportedCounter{"idempotency_spans_exported_total",
                                                     "Spans that the collector took."};
inline constexpr CounterFamily kSpansDroppedCounter{"idempotency_spans_dropped_total",
                                                    "Spans that were lost, by why."};

inline constexpr GaugeFamily kClockFollowedGauge{
    "idempotency_clock_followed",
    "1 while the wall clock is followed, 0 while it is not believed."};
inline constexpr GaugeFamily kClockTimeGauge{"idempotency_clock_time_seconds",
                                             "The time that is believed, in seconds since 1970."};
inline constexpr GaugeFamily kClockMarkGauge{
    "idempotency_clock_mark_seconds",
    "The durable mark, above which no time is used yet, in seconds since 1970."};
inline constexpr GaugeFamily kStoreDelayedWriteGauge{
    "idempotency_store_delayed_write_bytes_per_second",
    "Rate to which writes to the store are slowed down; 0: they are not."};
inline constexpr GaugeFamily kStoreWriteStoppedGauge{"idempotency_store_write_stopped",
                                                     "1 while writes to the store are stopped."};
inline constexpr GaugeFamily kStoreCompactionsGauge{"idempotency_store_running_compactions",
                                                    "Compactions that are being made."};
inline constexpr GaugeFamily kStoreFlushesGauge{"idempotency_store_running_flushes",
                                                "Memtables that are being written to files."};
inline constexpr GaugeFamily kStorePendingCompactionGauge{
    "idempotency_store_pending_compaction_bytes",
    "What compactions have yet to rewrite, estimated."};
inline constexpr GaugeFamily kStoreBackgroundErrorsGauge{
    "idempotency_store_background_errors",
    "Errors of flushes and compactions since the store was opened."};
inline constexpr GaugeFamily kStoreLevel0FilesGauge{
    "idempotency_store_level0_files", "Files that are not sorted into levels yet, of all shards."};
inline constexpr GaugeFamily kStoreMemtableGauge{"idempotency_store_memtable_bytes",
                                                 "Memory of what is not in files yet."};
inline constexpr GaugeFamily kStoreBlockCacheGauge{"idempotency_store_block_cache_bytes",
                                                   "Memory of the cache of blocks."};
inline constexpr GaugeFamily kStoreBlockCacheCapacityGauge{
    "idempotency_store_block_cache_capacity_bytes", "What it may take at most."};
inline constexpr GaugeFamily kStoreTableFilesGauge{"idempotency_store_table_files_bytes",
                                                   "Size of the files with records."};
inline constexpr GaugeFamily kStoreLogGauge{"idempotency_store_log_bytes",
                                            "Size of the write-ahead log."};
inline constexpr CounterFamily kStoreBlockCacheHitsCounter{
    "idempotency_store_block_cache_hits_total", "Blocks that were found in the cache."};
inline constexpr CounterFamily kStoreBlockCacheMissesCounter{
    "idempotency_store_block_cache_misses_total", "Blocks that were not."};
inline constexpr CounterFamily kStoreStallCounter{
    "idempotency_store_stall_seconds_total",
    "Time for which writes waited for flushes or compactions."};
inline constexpr CounterFamily kStoreCompactionReadCounter{
    "idempotency_store_compaction_read_bytes_total", "Bytes that compactions read."};
inline constexpr CounterFamily kStoreCompactionWrittenCounter{
    "idempotency_store_compaction_written_bytes_total", "Bytes that compactions wrote."};
inline constexpr CounterFamily kStoreFlushedCounter{
    "idempotency_store_flushed_bytes_total", "Bytes that were written from memtables to files."};
inline constexpr CounterFamily kStoreLogWrittenCounter{
    "idempotency_store_log_written_bytes_total", "Bytes that were written to the write-ahead log."};

// Every one, so that a test can compare them with docs/metrics.md.
inline constexpr GaugeFamily kGaugeFamilies[] = {kQueueDepthGauge,
                                                 kWaitersGauge,
                                                 kConnectionsGauge,
                                                 kCallBytesGauge,
                                                 kSessionsGauge,
                                                 kStoredKeysGauge,
                                                 kClockStepGauge,
                                                 kDiskFreeGauge,
                                                 kDiskLowGauge,
                                                 kReclaimableGauge,
                                                 kLastSweepGauge,
                                                 kProcessResidentGauge,
                                                 kProcessVirtualGauge,
                                                 kProcessThreadsGauge,
                                                 kProcessFdsGauge,
                                                 kProcessFdsMaxGauge,
                                                 kClockFollowedGauge,
                                                 kClockTimeGauge,
                                                 kClockMarkGauge,
                                                 kStoreDelayedWriteGauge,
                                                 kStoreWriteStoppedGauge,
                                                 kStoreCompactionsGauge,
                                                 kStoreFlushesGauge,
                                                 kStorePendingCompactionGauge,
                                                 kStoreBackgroundErrorsGauge,
                                                 kStoreLevel0FilesGauge,
                                                 kStoreMemtableGauge,
                                                 kStoreBlockCacheGauge,
                                                 kStoreBlockCacheCapacityGauge,
                                                 kStoreTableFilesGauge,
                                                 kStoreLogGauge,
                                                 kCertificateExpiryGauge,
                                                 kClientCaExpiryGauge};
inline constexpr CounterFamily kCounterFamilies[] = {
    kProcessCpuCounter,   kConnectionsRefusedCounter,  kSpansExportedCounter,
    kSpansDroppedCounter, kStoreBlockCacheHitsCounter, kStoreBlockCacheMissesCounter,
    kStoreStallCounter,   kStoreCompactionReadCounter, kStoreCompactionWrittenCounter,
    kStoreFlushedCounter, kStoreLogWrittenCounter,     kReloadsCounter,
    kAuthFailuresCounter, kConnectionsEndedCounter};

}  // namespace onced
