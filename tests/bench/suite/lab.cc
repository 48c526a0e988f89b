#include "tests/bench/suite/lab.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bench/load/cpu.h"

namespace onced::bench {
namespace {

// To fill a server fast.
constexpr int kPrepareSteps = 64;
// Connections that a pooled server gets at most.
constexpr int kPoolMax = 64;

double Micros(Histogram::Duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

Sample ToSample(const LoadResult& result) {
  return {.per_second = result.StepsPerSecond(),
          .p50 = Micros(result.latency.Percentile(0.5)),
          .p90 = Micros(result.latency.Percentile(0.9)),
          .p99 = Micros(result.latency.Percentile(0.99)),
          .p999 = Micros(result.latency.Percentile(0.999)),
          .load_cpu = result.load_cpu};
}

LoadOptions LoadOf(const Cell& cell, Clock::duration warm_up, Clock::duration duration,
                   std::uint64_t seed) {
  return {.callers = cell.callers,
          .steps = cell.steps,
          .warm_up = warm_up,
          .duration = duration,
          .messages_per_second = cell.rate,
          .seed = seed};
}

absl::StatusOr<std::unique_ptr<Driver>> MakeDriver(Target target, int callers, int connections) {
  if (target.kind->pooled) connections = std::min(callers, kPoolMax);
  DriverOptions options{
      .address = target.peer->address(), .callers = callers, .connections = connections};
  if (target.kind->connect != nullptr) return target.kind->connect(options);
  return target.peer->MakeDriver(options);
}

// With the cell's name before it.
absl::Status Told(const absl::Status& status, const Cell& cell) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(cell.table, ", ", cell.peer, ", ", cell.workload, ", ",
                                   cell.callers, " callers: ", status.message()));
}

template <typename T>
const T* Named(const std::vector<T>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

void Tell(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

struct Lab::Servers {
  std::map<std::string, std::unique_ptr<Peer>> running;
  std::map<std::string, std::string> missing;  // Why.
};

Lab::Lab(const std::vector<PeerKind>& kinds, const std::vector<Baseline>& baselines,
         const Settings& settings)
    : kinds_(kinds), baselines_(baselines), settings_(settings), work_(settings.work) {}

const PeerKind* Lab::Kind(const std::string& name) const { return Named(kinds_, name); }

absl::StatusOr<std::unique_ptr<Peer>> Lab::Start(const std::string& name, PeerOptions options) {
  const PeerKind* kind = Kind(name);
  if (kind == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("there is no ", name, " in this build"));
  }
  if (options.folder.empty()) options.folder = work_.MakeFolder();
  options.core = settings_.server_core;
  // Also where it is none: not on the load's.
  const StartingOn starting(options.core);
  auto peer = kind->start(options);
  if (peer.ok()) versions_[name] = (*peer)->Version();
  return peer;
}

absl::Status Lab::MeasureTable(const std::vector<Cell>& cells) {
  Servers servers;
  for (const Cell& cell : cells) {
    if (servers.running.contains(cell.peer) || servers.missing.contains(cell.peer)) continue;
    if (Named(baselines_, cell.peer) != nullptr) continue;
    auto running = Start(cell.peer);
    if (running.ok()) {
      servers.running.emplace(cell.peer, *std::move(running));
    } else if (absl::IsFailedPrecondition(running.status())) {
      servers.missing[cell.peer] = std::string(running.status().message());
    } else {
      return Told(running.status(), cell);
    }
  }
  for (int round = 0; round < settings_.rounds; ++round) {
    Tell(absl::StrCat(cells.front().table, ": round ", round + 1, " of ", settings_.rounds));
    if (absl::Status status = MeasureRound(servers, cells, round); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Each round begins elsewhere: what a cell leaves behind falls on another one.
absl::Status Lab::MeasureRound(Servers& servers, const std::vector<Cell>& cells, int round) {
  const std::size_t first =
      cells.size() * static_cast<std::size_t>(round) / static_cast<std::size_t>(settings_.rounds);
  // In the results, rows stand in the order of the table.
  for (const Cell& cell : cells) results_.Add(cell);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[(first + i) % cells.size()];
    if (absl::Status status = MeasureOne(servers, cell); !status.ok()) return Told(status, cell);
  }
  return absl::OkStatus();
}

absl::Status Lab::MeasureOne(Servers& servers, const Cell& cell) {
  if (const Baseline* baseline = Named(baselines_, cell.peer); baseline != nullptr) {
    auto sample = MeasureBaseline(*baseline, cell);
    if (!sample.ok()) return sample.status();
    results_.Add(cell, *sample);
    return absl::OkStatus();
  }
  if (const auto missing = servers.missing.find(cell.peer); missing != servers.missing.end()) {
    results_.Skip(cell, missing->second);
    return absl::OkStatus();
  }
  return MeasureInto({Kind(cell.peer), servers.running.at(cell.peer).get()}, cell,
                     settings_.duration);
}

absl::StatusOr<Sample> Lab::MeasureBaseline(const Baseline& baseline, const Cell& cell) {
  const std::string folder = work_.MakeFolder();
  work_.Settle();
  auto sample = baseline.measure(cell, folder, settings_.duration);
  std::filesystem::remove_all(folder);
  return sample;
}

absl::Status Lab::MeasureInto(Target target, const Cell& cell, Clock::duration duration) {
  auto sample = Measure(target, cell, duration);
  if (!sample.ok()) return Told(sample.status(), cell);
  results_.Add(cell, *sample);
  return absl::OkStatus();
}

absl::StatusOr<Sample> Lab::Measure(Target target, const Cell& cell, Clock::duration duration) {
  auto workload = MakeWorkload(cell.workload, {.callers = std::max(cell.callers, kPrepareCallers),
                                               .seed = NextSeed(),
                                               .records = settings_.replayed_records});
  if (!workload.ok()) return workload.status();
  if (target.kind->stores && workload->before != nullptr) {
    if (absl::Status status = Prepare(target, *workload->before); !status.ok()) return status;
  }
  auto driver = MakeDriver(target, cell.callers, cell.connections);
  if (!driver.ok()) return driver.status();
  work_.Settle();
  const double cpu = ProcessCpuSeconds(target.peer->pid());
  auto result =
      RunLoad(**driver, *workload->measured, LoadOf(cell, settings_.warm_up, duration, NextSeed()));
  if (!result.ok()) return result.status();
  Sample sample = ToSample(*result);
  // With the warm-up's, and what goes on in the background.
  const double cpu_micros = (ProcessCpuSeconds(target.peer->pid()) - cpu) * 1e6;
  const double all_steps = static_cast<double>(result->all_steps);
  if (all_steps > 0) sample.server_cpu = cpu_micros / all_steps;
  return sample;
}

absl::Status Lab::Prepare(Target target, Workload& workload, int callers) {
  auto driver = MakeDriver(target, callers, 2);
  if (!driver.ok()) return driver.status();
  const int steps = std::min(target.kind->steps_max, kPrepareSteps);
  return RunToEnd(**driver, workload, callers, steps);
}

}  // namespace onced::bench
