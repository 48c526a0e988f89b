#include "tests/bench/cli/run_command.h"

#include <cstdio>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bench/cli/peers.h"
#include "tests/bench/load/cpu.h"
#include "tests/bench/load/runner.h"
#include "tests/bench/load/work_folder.h"
#include "tests/bench/peer.h"

namespace onced::bench {
namespace {

struct Plan {
  std::string peer;
  std::string workload;
  std::string address;  // Of a server that runs. Empty: one is started.
  std::string work;
  std::optional<int> load_core;
  std::optional<int> server_core;
  WorkloadOptions keys;
  LoadOptions load;
  int connections = 1;
  std::vector<std::string> onced_flags;
};

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Plan PlanOf(Arguments& arguments) {
  Plan plan;
  plan.peer = arguments.Text("peer", "onced-unary");
  plan.workload = arguments.Text("workload", "fresh");
  plan.address = arguments.Text("server-address", "");
  plan.work = arguments.Text("work", "/var/tmp");
  plan.load_core = arguments.Core("load-core");
  plan.server_core = arguments.Core("server-core");
  plan.connections = static_cast<int>(arguments.Number("connections", 1));
  plan.onced_flags = arguments.All("onced-flag");
  plan.load.callers = static_cast<int>(arguments.Number("callers", 64));
  plan.load.steps = static_cast<int>(arguments.Number("batch", 1));
  plan.load.warm_up = Seconds(arguments.Number("warm-up", 1));
  plan.load.duration = Seconds(arguments.Number("seconds", 5));
  plan.load.messages_per_second = arguments.Number("rate", 0);
  plan.keys.callers = plan.load.callers;
  plan.keys.records = static_cast<std::int64_t>(arguments.Number("records", 10'000));
  const std::uint64_t seed = std::random_device()();
  plan.keys.seed = static_cast<std::uint64_t>(arguments.Number("seed", static_cast<double>(seed)));
  return plan;
}

absl::StatusOr<PeerKind> FindPeer(const std::string& name) {
  std::string names;
  for (const PeerKind& kind : AllPeers()) {
    if (kind.name == name) return kind;
    absl::StrAppend(&names, " ", kind.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("no such peer: ", name, "; there are", names));
}

double Micros(Histogram::Duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

void Print(const LoadResult& result, const Plan& plan, double server_cpu_seconds) {
  std::printf("%s %s callers=%d connections=%d batch=%d\n", plan.peer.c_str(),
              plan.workload.c_str(), plan.load.callers, plan.connections, plan.load.steps);
  std::printf("  %.0f operations/s\n", result.StepsPerSecond());
  const Histogram& latency = result.latency;
  std::printf("  of messages, us: p50 %.0f  p90 %.0f  p99 %.0f  p99.9 %.0f\n",
              Micros(latency.Percentile(0.5)), Micros(latency.Percentile(0.9)),
              Micros(latency.Percentile(0.99)), Micros(latency.Percentile(0.999)));
  std::printf("  load thread: %.0f%% of a core\n", result.load_cpu * 100);
  if (server_cpu_seconds > 0) {
    std::printf("  server, with warm-up: %.2f s CPU\n", server_cpu_seconds);
  }
}

absl::Status Measure(Driver& driver, int pid, bool prepare, const Plan& plan) {
  auto workload = MakeWorkload(plan.workload, plan.keys);
  if (!workload.ok()) return workload.status();
  if (prepare && workload->before != nullptr) {
    const absl::Status prepared =
        RunToEnd(driver, *workload->before, plan.load.callers, plan.load.steps);
    if (!prepared.ok()) return prepared;
  }
  const double cpu = ProcessCpuSeconds(pid);
  auto result = RunLoad(driver, *workload->measured, plan.load);
  if (!result.ok()) return result.status();
  Print(*result, plan, ProcessCpuSeconds(pid) - cpu);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunCommand(Arguments arguments) {
  const Plan plan = PlanOf(arguments);
  if (absl::Status status = arguments.Check(); !status.ok()) return status;
  const auto kind = FindPeer(plan.peer);
  if (!kind.ok()) return kind.status();
  if (plan.load.steps > kind->steps_max) {
    return absl::InvalidArgumentError(absl::StrCat("--batch: at most ", kind->steps_max));
  }
  RunOn(plan.load_core);
  WorkFolder work(plan.work);
  const DriverOptions driver_options{
      .address = plan.address, .callers = plan.load.callers, .connections = plan.connections};
  std::unique_ptr<Peer> peer;
  absl::StatusOr<std::unique_ptr<Driver>> driver;
  if (plan.address.empty()) {
    auto started = kind->start(
        {.folder = work.MakeFolder(), .core = plan.server_core, .onced_flags = plan.onced_flags});
    if (!started.ok()) return started.status();
    peer = *std::move(started);
    driver = peer->MakeDriver(driver_options);
  } else if (kind->connect == nullptr) {
    return absl::InvalidArgumentError("--server-address: not for this peer");
  } else {
    driver = kind->connect(driver_options);
  }
  if (!driver.ok()) return driver.status();
  const int pid = peer == nullptr ? 0 : peer->pid();
  return Measure(**driver, pid, kind->stores, plan);
}

}  // namespace onced::bench
