// What an operator may set, and where it comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/ledger/access.h"
#include "server/ledger/policy.h"

namespace onced {

// Where to listen. `host` is an address or a name, an IPv6 address without its
// brackets; port 0 lets the kernel choose.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};
// "host:port", or "[v6]:port".
std::string ToText(const Endpoint& endpoint);

// Everything that can be set. The members' values are the settings' defaults.
//
// Lifetime: made once by LoadConfig(), then constant.
struct Config {
  enum class Durability : std::uint8_t {
    kFsync,    // An acknowledged write survives power loss.
    kProcess,  // It survives the death of the process, no more.
  };
  enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };
  enum class TlsClientAuth : std::uint8_t {
    kRequire,  // Who has no certificate gets no connection.
    kRequest,  // Who has none may have a token.
  };

  Endpoint listen{"127.0.0.1", 50051};
  Endpoint http_listen{"127.0.0.1", 9464};
  std::optional<Endpoint> admin_listen = Endpoint{"127.0.0.1", 50052};  // nullopt: off.
  std::string data_dir;                 // Required: never empty once loaded.
  std::string config;                   // The file that was read; empty: none.
  std::optional<std::uint32_t> shards;  // nullopt: as stored, or kShardsPreset in a new store.
  std::uint32_t executors = 0;          // 0: see ExecutorCount().
  Durability durability = Durability::kFsync;
  std::size_t queue_max = 40'000;         // Of an executor: Reserve and Inspect.
  std::size_t settle_queue_max = 10'000;  // Of an executor: Commit, Extend, Release.
  absl::Duration queue_wait_max = absl::Milliseconds(500);  // 0: no bound.
  std::uint64_t connections_max = 0;           // 0: as many as there are descriptors for.
  std::uint64_t connections_per_peer_max = 0;  // 0: half of them.
  absl::Duration restart_grace = absl::Seconds(15);
  absl::Duration drain_window = absl::Seconds(2);
  absl::Duration shutdown_grace = absl::Seconds(10);
  absl::Duration max_downtime = absl::Hours(24 * 7);
  absl::Duration clock_tolerance = absl::Seconds(1);
  bool accept_clock = false;
  absl::Duration reclaim_grace = absl::Hours(1);
  absl::Duration sweep_interval = absl::Minutes(10);
  std::uint64_t sweep_bytes_per_second = std::uint64_t{32} << 20;
  std::uint64_t disk_floor_bytes = std::uint64_t{256} << 20;
  std::string backup_dir;                                     // Empty: no backups.
  std::uint32_t backup_keep = 7;                              // 0: all.
  std::uint64_t backup_rate_bytes = std::uint64_t{64} << 20;  // A second; 0: no limit.
  std::uint64_t memory_budget_bytes = std::uint64_t{512} << 20;
  LogLevel log_level = LogLevel::kInfo;
  std::string otlp_endpoint;      // Empty: nothing is traced.
  std::string otlp_headers_file;  // Empty: none.
  double trace_sample_ratio = 0;  // Of calls that come without a trace context.

  // Who may come, and how they are known. Paths of files; empty: none.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  std::optional<TlsClientAuth> tls_client_auth;  // nullopt: kRequire.
  std::string token_file;
  absl::Duration reload_interval = absl::Seconds(10);
  bool insecure = false;
  bool core_dumps = false;
  std::vector<AccessList::Entry> access;  // From the file. Empty: nobody is asked.

  // Policies of the namespaces that the file lists, and of all others; nullopt
  // if others may not be used.
  absl::flat_hash_map<std::string, Policy> namespaces;
  std::optional<Policy> unlisted_policy = Policy{};

  PolicyTable Policies() const { return PolicyTable(namespaces, unlisted_policy); }

  bool operator==(const Config&) const = default;
};

inline constexpr std::uint32_t kShardsPreset = 16;

// What the command line asks for.
struct ShowHelp {
  bool operator==(const ShowHelp&) const = default;
};
struct ShowVersion {
  bool operator==(const ShowVersion&) const = default;
};
using Invocation = std::variant<Config, ShowHelp, ShowVersion>;

// nullopt if the variable is not set.
using EnvLookup = absl::FunctionRef<std::optional<std::string>(const std::string& name)>;
// The status' message need not name the path.
using FileReader = absl::FunctionRef<absl::StatusOr<std::string>(const std::string& path)>;

// A flag wins over the environment, that over the file, that over the default.
// `args` is the command line without the program's name.
//
// Every value given must be valid, also one that another overrides. On failure
// the message has one line for each error, which names the setting, its source,
// the value and the bound.
absl::StatusOr<Invocation> LoadConfig(absl::Span<const std::string> args, EnvLookup env,
                                      FileReader read_file);

// The real ones for LoadConfig(): this process's environment, and a file of at
// most kConfigBytesMax.
std::optional<std::string> ReadEnvironment(const std::string& name);
absl::StatusOr<std::string> ReadConfigFile(const std::string& path);

inline constexpr std::size_t kConfigBytesMax = 1 << 20;

// What --help prints.
std::string HelpText();

}  // namespace onced
