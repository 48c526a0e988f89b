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

// Every one, so that a test can compare them with docs/metrics.md.
inline constexpr GaugeFamily kGaugeFamilies[] = {
    kQueueDepthGauge, kWaitersGauge,         kSessionsGauge,       kStoredKeysGauge,
    kClockStepGauge,  kDiskFreeGauge,        kDiskLowGauge,        kReclaimableGauge,
    kLastSweepGauge,  kProcessResidentGauge, kProcessVirtualGauge, kProcessThreadsGauge,
    kProcessFdsGauge, kProcessFdsMaxGauge};
inline constexpr CounterFamily kCounterFamilies[] = {kProcessCpuCounter};

}  // namespace onced
