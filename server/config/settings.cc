#include "server/config/settings.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/config/values.h"

namespace onced {
namespace {

constexpr std::uint32_t kShardsMax = 256;
constexpr std::uint64_t kQueueMax = 1'000'000;
constexpr std::uint64_t kWaitersMax = 1'000'000;
constexpr std::uint64_t kConnectionsMax = 1'000'000;
constexpr std::uint64_t kQuotaMax = 1'000'000'000;
constexpr std::uint64_t kBackupsMax = 1'000;
constexpr absl::Duration kGraceMax = absl::Hours(1);
constexpr absl::Duration kDowntimeMax = absl::Hours(24 * 3650);
// More than the second by which the clock mark runs ahead of the clock.
constexpr absl::Duration kReclaimGraceMin = absl::Seconds(2);
// Slower, and a backup of any size would take days: of use to nobody, and never
// meant by who writes "64".
constexpr std::uint64_t kBackupRateMin = std::uint64_t{1} << 20;
constexpr std::uint64_t kSweepRateMin = std::uint64_t{64} << 10;
constexpr std::uint64_t kMemoryMin = std::uint64_t{64} << 20;
constexpr std::uint64_t kMemoryMax = std::uint64_t{1024} << 30;

constexpr absl::string_view kNoYes[] = {"no", "yes"};
constexpr absl::string_view kTlsClientAuths[] = {"require", "request"};
constexpr absl::string_view kDurabilities[] = {"fsync", "process"};
constexpr absl::string_view kLogLevels[] = {"debug", "info", "warn", "error"};
constexpr absl::string_view kOnLapses[] = {"REGRANT", "HOLD"};

// 0, for no limit, or a rate.
absl::StatusOr<std::uint64_t> ParseBackupRate(absl::string_view text) {
  if (ParseBytes(text, 0, 0).ok()) return 0;
  absl::StatusOr<std::uint64_t> rate = ParseBytes(text, kBackupRateMin, kMemoryMax);
  if (rate.ok()) return rate;
  return absl::InvalidArgumentError(absl::StrCat(rate.status().message(), ", or 0 for no limit"));
}

constexpr Setting kSettings[] = {
    {"data_dir", "DIR", "", "Where records are kept; made if it is not there. Required.",
     [](absl::string_view text, Config& c) { return Assign(ParsePath(text), c.data_dir); }},
    {"config", "FILE", "",
     "A YAML file with settings, the namespaces' policies, and the access list.",
     [](absl::string_view text, Config& c) { return Assign(ParsePath(text), c.config); }},
    {"listen", "HOST:PORT", "127.0.0.1:50051", "Where gRPC is served. Port 0: any that is free.",
     [](absl::string_view text, Config& c) { return Assign(ParseEndpoint(text), c.listen); }},
    {"http_listen", "HOST:PORT", "127.0.0.1:9464", "Where /metrics, /livez and /readyz are served.",
     [](absl::string_view text, Config& c) { return Assign(ParseEndpoint(text), c.http_listen); }},
    {"admin_listen", "HOST:PORT|off", "127.0.0.1:50052", "Where the admin service is served.",
     [](absl::string_view text, Config& c) {
       if (text == "off") return c.admin_listen.reset(), absl::OkStatus();
       return Assign(ParseEndpoint(text), c.admin_listen.emplace());
     }},
    {"shards", "N", "", "1 to 256; fixed when the data directory is made, then as stored (16).",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWhole(text, 1, kShardsMax), c.shards.emplace());
     }},
    {"executors", "N", "0",
     "Threads that execute requests, at most one for each shard. 0: one for each core.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWhole(text, 0, kShardsMax), c.executors);
     }},
    {"durability", "fsync|process", "fsync",
     "What an acknowledged write survives: power loss, or only the process's death.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWord(text, kDurabilities), c.durability);
     }},
    {"queue_max", "N", "40000",
     "Reserve and Inspect calls that may wait for an executor, 1 to 1000000.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWhole(text, 1, kQueueMax), c.queue_max);
     }},
    {"settle_queue_max", "N", "10000",
     "The same for Commit, Extend and Release, which have room of their own.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWhole(text, 1, kQueueMax), c.settle_queue_max);
     }},
    {"queue_wait_max", "DURATION", "500ms",
     "Reserve and Inspect are refused while requests wait longer than that, 0s to 1m. 0s: never.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, absl::ZeroDuration(), absl::Minutes(1)), c.queue_wait_max);
     }},
    {"connections_max", "N", "0",
     "Connections to the gRPC port, 0 to 1000000. 0: as descriptors allow, at most 10000.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWhole(text, 0, kConnectionsMax), c.connections_max);
     }},
    {"connections_per_peer_max", "N", "0",
     "Those from one address, 0 to 1000000. 0: half of connections_max.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWhole(text, 0, kConnectionsMax), c.connections_per_peer_max);
     }},
    {"restart_grace", "DURATION", "15s",
     "How long leases that ran out while the server was down are still honoured, 0s to 1h.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, absl::ZeroDuration(), kGraceMax), c.restart_grace);
     }},
    {"drain_window", "DURATION", "2s",
     "How long after SIGTERM reservations can still be settled, 0s to 1h. A second signal ends it.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, absl::ZeroDuration(), kGraceMax), c.drain_window);
     }},
    {"shutdown_grace", "DURATION", "10s", "How long calls may take to end after that, 0s to 1h.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, absl::ZeroDuration(), kGraceMax), c.shutdown_grace);
     }},
    {"max_downtime", "DURATION", "7d",
     "How far ahead the wall clock may be at the start, 1m to 3650d; further, it is not believed.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, absl::Minutes(1), kDowntimeMax), c.max_downtime);
     }},
    {"clock_tolerance", "DURATION", "1s",
     "By how much the wall clock may be stepped and still be followed, 10ms to 1m.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, absl::Milliseconds(10), absl::Minutes(1)),
                     c.clock_tolerance);
     }},
    {"accept_clock", "no|yes", "no",
     "Believe the wall clock as it is at this start, whatever it was before.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWord(text, kNoYes), c.accept_clock);
     }},
    {"reclaim_grace", "DURATION", "1h",
     "How long after its expiry a record's space is kept at least, 2s to 7d.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, kReclaimGraceMin, absl::Hours(24 * 7)), c.reclaim_grace);
     }},
    {"sweep_interval", "DURATION", "10m",
     "How long the sweeper, which gives that space back, pauses between sweeps, 1s to 24h.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, absl::Seconds(1), absl::Hours(24)), c.sweep_interval);
     }},
    {"sweep_rate", "BYTES", "32MiB", "How much it rewrites a second at most, 64KiB to 1024GiB.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseBytes(text, kSweepRateMin, kMemoryMax), c.sweep_bytes_per_second);
     }},
    {"disk_floor", "BYTES", "256MiB",
     "With less space left for data_dir, nothing new is granted, 0 to 1024GiB.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseBytes(text, 0, kMemoryMax), c.disk_floor_bytes);
     }},
    {"backup_dir", "DIR", "", "Where backups are kept, on another disk than data_dir. Unset: none.",
     [](absl::string_view text, Config& c) { return Assign(ParsePath(text), c.backup_dir); }},
    {"backup_keep", "N", "7", "Backups that are kept, 0 to 1000; older ones are removed. 0: all.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWhole(text, 0, kBackupsMax), c.backup_keep);
     }},
    {"backup_rate", "BYTES", "64MiB",
     "What a backup may read and write in a second, 1MiB to 1024GiB. 0: no limit.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseBackupRate(text), c.backup_rate_bytes);
     }},
    {"memory_budget", "BYTES", "512MiB",
     "Memory for the store's caches and buffers and for calls, 64MiB to 1024GiB.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseBytes(text, kMemoryMin, kMemoryMax), c.memory_budget_bytes);
     }},
    {"tls_cert", "FILE", "",
     "The server's certificate and those that signed it, PEM. Unset: no TLS.",
     [](absl::string_view text, Config& c) { return Assign(ParsePath(text), c.tls_cert); }},
    {"tls_key", "FILE", "", "The certificate's private key, PEM, without a password.",
     [](absl::string_view text, Config& c) { return Assign(ParsePath(text), c.tls_key); }},
    {"tls_client_ca", "FILE", "", "Who may have signed the certificates of clients, PEM.",
     [](absl::string_view text, Config& c) { return Assign(ParsePath(text), c.tls_client_ca); }},
    {"tls_client_auth", "require|request", "",
     "With tls_client_ca: every client must have a certificate (require; so if unset), or may.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWord(text, kTlsClientAuths), c.tls_client_auth.emplace());
     }},
    {"token_file", "FILE", "", "The digests of the bearer tokens that are accepted.",
     [](absl::string_view text, Config& c) { return Assign(ParsePath(text), c.token_file); }},
    {"reload_interval", "DURATION", "10s",
     "How often those files are looked at, 100ms to 1h; changed ones are taken without a restart.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseDuration(text, absl::Milliseconds(100), absl::Hours(1)),
                     c.reload_interval);
     }},
    {"insecure", "no|yes", "no",
     "Serve whoever comes, from other machines as well, without asking who they are.",
     [](absl::string_view text, Config& c) { return Assign(ParseWord(text, kNoYes), c.insecure); }},
    {"core_dumps", "no|yes", "no",
     "Whether a crash may leave a core dump, which has keys, results and tokens in it.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWord(text, kNoYes), c.core_dumps);
     }},
    {"log_level", "LEVEL", "info", "The least level that is logged: debug, info, warn or error.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseWord(text, kLogLevels), c.log_level);
     }},
    {"otlp_endpoint", "URL", "",
     "A collector for traces, by OTLP/HTTP with JSON, such as http://127.0.0.1:4318. Unset: none.",
     [](absl::string_view text, Config& c) { return Assign(ParseUrl(text), c.otlp_endpoint); }},
    {"otlp_headers_file", "FILE", "",
     "Headers for it, such as its credentials: a \"Name: value\" a line.",
     [](absl::string_view text, Config& c) {
       return Assign(ParsePath(text), c.otlp_headers_file);
     }},
    {"trace_sample_ratio", "RATIO", "0",
     "Which part of the calls that come without a trace context is traced, 0 to 1.",
     [](absl::string_view text, Config& c) {
       return Assign(ParseRatio(text), c.trace_sample_ratio);
     }},
};

absl::StatusOr<absl::Duration> Lease(absl::string_view text) {
  return ParseDuration(text, limits::kLeaseMin, limits::kLeaseMax);
}
absl::StatusOr<absl::Duration> Retention(absl::string_view text) {
  return ParseDuration(text, limits::kRetentionMin, limits::kRetentionMax);
}
absl::StatusOr<absl::Duration> Wait(absl::string_view text) {
  return ParseDuration(text, absl::ZeroDuration(), limits::kWaitMax);
}
absl::StatusOr<OnLapse> ParseOnLapse(absl::string_view text) {
  const absl::StatusOr<std::size_t> index = ParseWord(text, kOnLapses);
  if (!index.ok()) return index.status();
  return *index == 0 ? OnLapse::kRegrant : OnLapse::kHold;
}

constexpr PolicySetting kPolicySettings[] = {
    {"lease.min", "100ms", "The shortest lease that a caller may ask for, 100ms to 24h.",
     [](absl::string_view text, Policy& p) { return Assign(Lease(text), p.lease.min); }},
    {"lease.max", "24h", "The longest one.",
     [](absl::string_view text, Policy& p) { return Assign(Lease(text), p.lease.max); }},
    {"lease.default", "2m", "The lease of a caller that asks for none.",
     [](absl::string_view text, Policy& p) { return Assign(Lease(text), p.lease.preset); }},
    {"retention.min", "1s", "The shortest time for which a result is replayed, 1s to 400d.",
     [](absl::string_view text, Policy& p) { return Assign(Retention(text), p.retention.min); }},
    {"retention.max", "400d", "The longest one.",
     [](absl::string_view text, Policy& p) { return Assign(Retention(text), p.retention.max); }},
    {"retention.default", "24h", "The retention of a caller that asks for none.",
     [](absl::string_view text, Policy& p) { return Assign(Retention(text), p.retention.preset); }},
    {"wait.max", "60s", "The longest time for which a Reserve may wait, 0s to 60s.",
     [](absl::string_view text, Policy& p) { return Assign(Wait(text), p.wait.max); }},
    {"wait.default", "0s", "The wait of a caller that asks for none.",
     [](absl::string_view text, Policy& p) { return Assign(Wait(text), p.wait.preset); }},
    {"on_lapse", "REGRANT",
     "What becomes of a reservation whose lease ran out: the next caller takes over (REGRANT), or "
     "nobody does until a late commit or an operator settles it (HOLD).",
     [](absl::string_view text, Policy& p) { return Assign(ParseOnLapse(text), p.on_lapse); }},
    {"lapsed_retention", "24h",
     "How long a lapsed reservation is kept under REGRANT, a second more than restart_grace to "
     "400d.",
     [](absl::string_view text, Policy& p) {
       return Assign(ParseDuration(text, absl::ZeroDuration(), limits::kRetentionMax),
                     p.lapsed_retention);
     }},
    {"max_body_bytes", "1MiB",
     "The largest body of a result that is stored, 0 to 3MiB; of a larger one, size and digest "
     "are.",
     [](absl::string_view text, Policy& p) {
       return Assign(ParseBytes(text, 0, limits::kBodyBytesMax), p.body_bytes_max);
     }},
    {"waiters_per_key_max", "1000", "Calls that may wait for one key, 0 to 1000000.",
     [](absl::string_view text, Policy& p) {
       return Assign(ParseWhole(text, 0, kWaitersMax), p.waiters_per_key_max);
     }},
    {"waiters_max", "10000", "Calls that may wait in the namespace, 0 to 1000000.",
     [](absl::string_view text, Policy& p) {
       return Assign(ParseWhole(text, 0, kWaitersMax), p.waiters_max);
     }},
    {"quota.rate", "0",
     "Reserve operations a second, 0 to 1000000000; a Batch counts as all that are in "
     "it. 0: no limit.",
     [](absl::string_view text, Policy& p) {
       return Assign(ParseWhole(text, 0, kQuotaMax), p.quota.rate);
     }},
    {"quota.burst", "0",
     "So many of them at once, after a rest, 0 to 1000000000. 0: a second's worth.",
     [](absl::string_view text, Policy& p) {
       return Assign(ParseWhole(text, 0, kQuotaMax), p.quota.burst);
     }},
    {"quota.concurrency", "0",
     "So many of them in flight, 0 to 1000000000; those that wait for a holder don't count. 0: no "
     "limit.",
     [](absl::string_view text, Policy& p) {
       return Assign(ParseWhole(text, 0, kQuotaMax), p.quota.concurrency);
     }},
};

}  // namespace

absl::Span<const Setting> Settings() { return kSettings; }
absl::Span<const PolicySetting> PolicySettings() { return kPolicySettings; }

std::string FlagOf(const Setting& setting) {
  return absl::StrCat("--", absl::StrReplaceAll(setting.name, {{"_", "-"}}));
}

std::string EnvironmentOf(const Setting& setting) {
  return absl::StrCat("ONCED_", absl::AsciiStrToUpper(setting.name));
}

}  // namespace onced
