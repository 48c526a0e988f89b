// The composition root. Built from the bottom up; destruction runs the other
// way and is the shutdown order.
#include "server/serve.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/base/believed_clock.h"
#include "server/base/clock.h"
#include "server/base/descriptors.h"
#include "server/base/liveness.h"
#include "server/base/random.h"
#include "server/base/tracer.h"
#include "server/config/config.h"
#include "server/config/cores.h"
#include "server/gate.h"
#include "server/observe/http_server.h"
#include "server/observe/json_audit_log.h"
#include "server/observe/log.h"
#include "server/observe/otlp_exporter.h"
#include "server/observe/process_metrics.h"
#include "server/observe/prometheus_telemetry.h"
#include "server/reporting.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/errors.h"
#include "server/rpc/grpc_server.h"
#include "server/rpc/service.h"
#include "server/rpc/watched_transports.h"
#include "server/run_restore.h"
#include "server/shard/shard_set.h"
#include "server/storage/metered_store.h"
#include "server/storage/rocksdb/backup.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "server/storage/rocksdb/sweeper.h"

namespace onced {
namespace {

constexpr int kExitFailed = 1;
// What the process may take to end beyond the grace for calls in flight, before
// the kernel ends it: a hang is worse than a crash, which loses nothing.
constexpr unsigned kWatchdogSeconds = 20;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "onced: %s\n", std::string(status.message()).c_str());
  return kExitFailed;
}

// Before the first thread: all threads inherit it.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

int WaitForStopSignal(const sigset_t& signals) {
  int received = 0;
  sigwait(&signals, &received);
  return received;
}

// Returns after `window`, or at once if somebody is in a hurry.
void WaitForSecondSignal(const sigset_t& signals, absl::Duration window) {
  const timespec timeout = absl::ToTimespec(window);
  // Ignored: which of the two it was makes no difference.
  (void)sigtimedwait(&signals, nullptr, &timeout);
}

LogLevel LevelOf(Config::LogLevel level) {
  switch (level) {
    case Config::LogLevel::kDebug:
      return LogLevel::kDebug;
    case Config::LogLevel::kInfo:
      return LogLevel::kInfo;
    case Config::LogLevel::kWarn:
      return LogLevel::kWarn;
    case Config::LogLevel::kError:
      return LogLevel::kError;
  }
  __builtin_unreachable();
}

absl::StatusOr<std::unique_ptr<RocksStore>> OpenStore(const Config& config,
                                                      const TimeSource& time_source,
                                                      Telemetry& telemetry, rocksdb::Env* env) {
  SystemRandom random;
  return RocksStore::Open(
      {.data_dir = config.data_dir,
       .shards = config.shards,
       .durability = config.durability == Config::Durability::kFsync
                         ? RocksStore::Durability::kFsync
                         : RocksStore::Durability::kProcess,
       .memory_budget_bytes = config.memory_budget_bytes,
       .restart_grace = config.restart_grace,
       .disk_floor_bytes = config.disk_floor_bytes,
       .reclaim_grace = config.reclaim_grace,
       .time_source = &time_source,
       .max_downtime = config.accept_clock ? absl::InfiniteDuration() : config.max_downtime,
       .random = random,
       .telemetry = &telemetry,
       .env = env});
}

// Executors, the committer and the kernel's part of the network need the other half.
int CallQueueCount(std::size_t cores) {
  constexpr std::size_t kMax = 16;
  return static_cast<int>(std::clamp<std::size_t>(cores / 2, 1, kMax));
}

// A quarter of the memory budget is for calls, half is the store's, and the rest for
// what neither counts. With less than this, few calls could have large bodies.
std::size_t CallBytesMax(const Config& config) {
  constexpr std::uint64_t kLeast = std::uint64_t{32} << 20;
  return std::max(config.memory_budget_bytes / 4, kLeast);
}

void LogStep(Log& log, absl::Duration step) {
  if (step == absl::ZeroDuration()) {
    log.Info("clock_followed_again");
  } else {
    log.Warn(
        "clock_step_not_believed",
        {{"step", step}, {"way_out", "set the clock right, or accept it: oncectl clock accept"}});
  }
}

AdminService::Options AdminOptions(const Config& config, RocksStore& store, std::atomic<bool>& stop,
                                   std::optional<BackupReport> last_backup,
                                   std::function<ServerStatus()> status) {
  if (config.backup_dir.empty()) return {.status = std::move(status)};
  BackupPlan plan{.directory = config.backup_dir,
                  .keep = config.backup_keep,
                  .rate_bytes = config.backup_rate_bytes,
                  .reserve_bytes = config.disk_floor_bytes};
  return {.make_backup = [plan = std::move(plan), &store, &stop](
                             absl::Time cut_time) { return store.Backup(plan, cut_time, stop); },
          .stop_backup = [&stop] { stop = true; },
          .last_backup = std::move(last_backup),
          .status = std::move(status)};
}

// What the parts that it takes say of themselves.
struct StatusSources {
  const RocksStore& store;
  const BelievedClock& clock;
  const Sweep& sweep;
  const IdempotencyService& service;
  const std::atomic<bool>& serving;
  const std::atomic<bool>& store_failed;
};
ServerStatus StatusOf(const StatusSources& from, absl::Time start_time) {
  ServerStatus status{.version = ONCED_VERSION,
                      .start_time = start_time,
                      .draining = !from.serving,
                      .sessions = from.service.sessions(),
                      .time = from.clock.Now(),
                      .clock_step = from.clock.Step(),
                      .clock_mark = from.store.clock_mark(),
                      .store_failed = from.store_failed,
                      .low_on_space = from.store.LowOnSpace(),
                      .free_bytes = from.store.FreeBytes(),
                      .key_count = from.store.EstimateKeys()};
  if (from.sweep.last_ended() != absl::UnixEpoch()) {
    status.last_sweep = from.sweep.last_ended();
    status.useless_bytes = from.sweep.useless_bytes();
  }
  return status;
}

// Its messages are small, and its callers few.
constexpr std::size_t kAdminCallBytesMax = std::size_t{16} << 20;
constexpr std::size_t kAdminConnectionsMax = 64;

struct ConnectionBounds {
  std::size_t all = 0;
  std::size_t per_peer = 0;
};

absl::StatusOr<ConnectionBounds> BoundsOf(const Config& config, std::size_t descriptors) {
  const std::size_t most = ConnectionsFor(descriptors);
  ConnectionBounds bounds{.all = config.connections_max,
                          .per_peer = config.connections_per_peer_max};
  if (bounds.all == 0) bounds.all = most;
  if (bounds.per_peer == 0) bounds.per_peer = (bounds.all + 1) / 2;
  // What is left is for the store, which must not lack any: a failed write ends the process.
  const std::size_t room = descriptors - std::min(descriptors, descriptors / 4);
  if (bounds.all <= std::max(most, room)) return bounds;
  return absl::InvalidArgumentError(
      absl::StrCat("connections_max: ", bounds.all, " are too many: with ", descriptors,
                   " descriptors (ulimit -n) there may be ", std::max(most, room)));
}

const char* NameOf(Acceptor::Refused why) {
  switch (why) {
    case Acceptor::Refused::kConnections:
      return "connections_max";
    case Acceptor::Refused::kPeer:
      return "connections_per_peer_max";
    case Acceptor::Refused::kDescriptors:
      return "no_descriptors";
  }
  __builtin_unreachable();
}

auto RefusedLogger(Log& log) {
  return [&log](Acceptor::Refused why, const std::string& address) {
    log.WriteLimited(LogLevel::kWarn, "connection_refused",
                     {{"cause", NameOf(why)}, {"peer", address}});
  };
}

// nullptr if it is off.
absl::StatusOr<std::unique_ptr<GrpcServer>> ListenForAdmin(const Config& config, const Gate& gate,
                                                           AdminService& admin, Log& log) {
  if (!config.admin_listen.has_value()) return nullptr;
  return GrpcServer::Listen({.setting = "admin_listen",
                             .address = ToText(*config.admin_listen),
                             .credentials = gate.NewCredentials(),
                             .service_name = admin_v1::AdminService::service_full_name(),
                             .buffer_bytes_max = kAdminCallBytesMax,
                             .callers = CallQueue::Callers::kFew,
                             .accept = [&](CallQueue& queue) { admin.Accept(queue); },
                             .connections_max = kAdminConnectionsMax,
                             .connections_per_peer_max = kAdminConnectionsMax,
                             .on_refused = RefusedLogger(log),
                             .long_calls = true},
                            admin);
}

// `port` is its label in the metrics.
void Watch(GrpcServer& server, const char* port, Liveness& liveness,
           PrometheusTelemetry& telemetry) {
  liveness.Watch([&server] { return server.Alive(); });
  telemetry.AddGauge(kConnectionsGauge, {{"port", port}}, [counts = server.acceptor().counts()] {
    return static_cast<double>(counts->open());
  });
  for (const Acceptor::Refused why : {Acceptor::Refused::kConnections, Acceptor::Refused::kPeer,
                                      Acceptor::Refused::kDescriptors}) {
    telemetry.AddCounter(kConnectionsRefusedCounter, {{"port", port}, {"cause", NameOf(why)}},
                         [counts = server.acceptor().counts(), why] {
                           return static_cast<double>(counts->refused(why));
                         });
  }
}

std::string AdminAddress(const Config& config, const GrpcServer* server) {
  if (server == nullptr) return "off";
  return ToText({config.admin_listen->host, static_cast<std::uint16_t>(server->port())});
}

int Serve(const Config& config, const Machine& machine) {
  const sigset_t stop_signals = BlockStopSignals();
  const SystemTimeSource system_time;
  const TimeSource& time_source =
      machine.time_source != nullptr ? *machine.time_source : system_time;
  const SystemClock wall;
  const PolicyTable policies = config.Policies();
  Log log(wall, {.level = LevelOf(config.log_level)});
  PrometheusTelemetry telemetry({.build_info = {{"version", ONCED_VERSION}},
                                 .start_time = wall.Now(),
                                 .reasons = AllReasons(),
                                 .namespaces = policies.Names(),
                                 .time_source = &time_source},
                                log);
  SystemRandom export_random;
  SystemRandom trace_random;
  auto exporter = StartExporter(config, ONCED_VERSION, export_random, log);
  if (!exporter.ok()) return Fail(exporter.status());
  AddSpanCounters(telemetry, exporter->get());
  const std::unique_ptr<Tracer> tracer =
      *exporter == nullptr
          ? nullptr
          : std::make_unique<Tracer>(**exporter, trace_random, config.trace_sample_ratio);
  if (const absl::Status limited = LimitCoreDumps(config); !limited.ok()) return Fail(limited);
  auto gate = Gate::Open(config, wall, log);
  if (!gate.ok()) return Fail(gate.status());
  (*gate)->AddMetrics(telemetry);

  const auto connections = BoundsOf(config, RaiseDescriptorLimit());
  if (!connections.ok()) return Fail(connections.status());

  std::atomic<bool> serving{false};
  std::atomic<bool> store_failed{false};
  auto disk = OpenStore(config, time_source, telemetry, machine.env);
  if (!disk.ok()) return Fail(disk.status());
  const std::unique_ptr<Store> wrapped = machine.wrap_store ? machine.wrap_store(**disk) : nullptr;
  BelievedClock clock(time_source, {.tolerance = config.clock_tolerance,
                                    .max_downtime = config.max_downtime,
                                    .accept_at_start = config.accept_clock,
                                    .last_believed = (*disk)->clock_mark(),
                                    .on_step = [&](absl::Duration step) { LogStep(log, step); }});
  MeteredStore store(wrapped ? *wrapped : **disk, clock, telemetry, [&] {
    // Nobody knows what is on the disk: the process ends, and opens it anew.
    if (!store_failed.exchange(true)) kill(getpid(), SIGTERM);
  });
  const std::uint32_t shard_count = store.identity().shards;
  ShardSet shards({.executors = ExecutorCount(config.executors, AvailableCores(), shard_count),
                   .limits = {.queue_max = config.queue_max,
                              .settle_queue_max = config.settle_queue_max,
                              .namespace_parts = 2,
                              .queue_wait_max = config.queue_wait_max}},
                  store, clock, telemetry);
  Sweep sweep(**disk, store, clock, telemetry, config.sweep_bytes_per_second);
  const Sweeper sweeper(config.sweep_interval, sweep, telemetry);
  AddGauges(telemetry, shards, **disk, clock, sweep);
  AddProcessMetrics(telemetry);
  const std::optional<BackupReport> last_backup = FindNewestBackup(config.backup_dir);
  if (last_backup.has_value()) telemetry.BackupFound(*last_backup);
  IdempotencyService service(shards, policies, (*gate)->authenticator(), telemetry, tracer.get(),
                             CallBytesMax(config));
  telemetry.AddGauge(kSessionsGauge, {}, [&] { return static_cast<double>(service.sessions()); });
  telemetry.AddGauge(kCallBytesGauge, {},
                     [&] { return static_cast<double>(service.call_bytes()); });
  std::atomic<bool> stop_backup{false};
  JsonAuditLog audit_log(log);
  const auto status = [sources =
                           StatusSources{**disk, clock, sweep, service, serving, store_failed},
                       start_time = clock.Now()] { return StatusOf(sources, start_time); };
  AdminService admin(AdminOptions(config, **disk, stop_backup, last_backup, status),
                     {.authenticator = (*gate)->authenticator(),
                      .shards = shards,
                      .store = store,
                      .policies = policies,
                      .clock = clock,
                      .telemetry = telemetry,
                      .audit_log = audit_log});
  Liveness liveness;
  liveness.Watch([&] {
    return shards.Alive() ? absl::OkStatus() : absl::UnavailableError("an executor hangs");
  });
  const auto live = [&] {
    return store_failed ? absl::UnavailableError("the store has failed") : liveness.Ask();
  };
  const auto ready = [&] {
    return serving ? live() : absl::UnavailableError("starting or draining");
  };
  // After what its gauges ask, so that it goes before that.
  auto http = HttpServer::Open(
      {.host = config.http_listen.host,
       .port = config.http_listen.port,
       .metrics = [&] { return telemetry.Scrape(); },
       .live = live,
       .ready = ready,
       .warning =
           [&] { return store.LowOnSpace() ? "disk nearly full: nothing new is granted" : ""; }});
  if (!http.ok()) return Fail(http.status());
  auto server =
      GrpcServer::Listen({.setting = "listen",
                          .address = ToText(config.listen),
                          .credentials = (*gate)->NewCredentials(),
                          .service_name = idempotency::v1::IdempotencyService::service_full_name(),
                          .buffer_bytes_max = CallBytesMax(config),
                          .queues = CallQueueCount(AvailableCores()),
                          .accept = [&](CallQueue& queue) { service.Accept(queue); },
                          .connections_max = connections->all,
                          .connections_per_peer_max = connections->per_peer,
                          .on_refused = RefusedLogger(log)},
                         service);
  if (!server.ok()) return Fail(server.status());
  auto admin_server = ListenForAdmin(config, **gate, admin, log);
  if (!admin_server.ok()) return Fail(admin_server.status());
  Watch(**server, "api", liveness, telemetry);
  telemetry.AddCounter(kConnectionsEndedCounter, {},
                       [] { return static_cast<double>(ConnectionsEnded()); });
  if (*admin_server != nullptr) Watch(**admin_server, "admin", liveness, telemetry);

  (*gate)->Warn();
  serving = true;
  LogSettings(log, config, ONCED_VERSION);  // A start that fails has one plain line, and no other.
  const std::string listen =
      ToText({config.listen.host, static_cast<std::uint16_t>((*server)->port())});
  const std::string http_listen = ToText({config.http_listen.host, (*http)->port()});
  log.Info("serving", {{"listen", listen},
                       {"http_listen", http_listen},
                       {"admin_listen", AdminAddress(config, admin_server->get())},
                       {"data_dir", config.data_dir},
                       {"shards", shard_count},
                       {"executors", shards.executor_count()},
                       {"version", ONCED_VERSION}});

  // 1. Say so, and grant nothing any more; parked calls are answered.
  // 2. For a while, whoever holds a key can still settle it.
  // 3. Sessions read no more. The calls in flight end, and are durable when answered;
  //    no new ones are taken.
  // 4. Executors finish their queues, the store closes: the destructors.
  const int received = WaitForStopSignal(stop_signals);
  log.Info("draining", {{"signal", received}, {"store_failed", store_failed.load()}});
  const absl::Duration bound = config.drain_window + config.shutdown_grace;
  alarm(static_cast<unsigned>(absl::ToInt64Seconds(bound)) + kWatchdogSeconds);
  serving = false;
  liveness.End();  // From here on the watchdog watches.
  (*server)->StopServing();
  if (*admin_server != nullptr) (*admin_server)->StopServing();
  admin.RequestStop();
  shards.StartDraining();
  if (!store_failed) WaitForSecondSignal(stop_signals, config.drain_window);
  service.RefuseCalls();
  service.EndSessions();
  service.AwaitIdle(config.shutdown_grace);
  (*server)->Shutdown();
  if (!store_failed) {
    admin.Stop();
    if (*admin_server != nullptr) (*admin_server)->Shutdown();
  }
  log.Info("stopped", {{"store_failed", store_failed.load()}});
  // Nothing of a failed store is touched again, not even to close it.
  if (store_failed) std::_Exit(kExitFailed);
  return 0;
}

}  // namespace

int Main(const std::vector<std::string>& args, const Machine& machine) {
  if (!args.empty() && args[0] == "restore")
    return RunRestore({args.begin() + 1, args.end()}, machine);
  const auto invocation = LoadConfig(args, ReadEnvironment, ReadConfigFile);
  if (!invocation.ok()) return Fail(invocation.status());
  if (std::holds_alternative<ShowHelp>(*invocation))
    return std::fputs(HelpText().c_str(), stdout) < 0;
  if (std::holds_alternative<ShowVersion>(*invocation))
    return std::puts("onced " ONCED_VERSION) < 0;
  return Serve(std::get<Config>(*invocation), machine);
}

}  // namespace onced
