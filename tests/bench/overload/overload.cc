#include "tests/bench/overload/overload.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "tests/bench/grpc/channels.h"
#include "tests/bench/load/cpu.h"
#include "tests/bench/load/work_folder.h"
#include "tests/bench/overload/open_load.h"
#include "tests/bench/peer.h"
#include "tests/bench/report/machine.h"

namespace onced::bench {
namespace {

using Channels = std::vector<std::shared_ptr<grpc::Channel>>;

// So many that no call waits in the client for a stream: a connection has 256.
constexpr int kConnections = 64;
constexpr double kMiB = 1 << 20;
// Of the namespace that floods; it comes with ten times as much.
constexpr double kQuota = 500;
constexpr double kFloodTimes = 10;
// Of the one that doesn't: far less than the server can carry.
constexpr double kQuietRate = 500;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double Millis(Histogram::Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double ResidentBytes(int pid) {
  std::ifstream statm(absl::StrCat("/proc/", pid, "/statm"));
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * 4096;
}

// What a load asks for in one call, and how many of it may be in flight.
struct Shape {
  const char* name;
  const char* option;
  int operations;
  std::vector<int> pools;       // By which the peak is sought: closed loops.
  std::vector<int> overloaded;  // Under overload.
};
const Shape kShapes[] = {
    {"Reserve", "reserve", 1, {64, 256, 1'024}, {1'024, 4'096, 16'384}},
    {"Batch of 64", "batch", 64, {16, 64, 256}, {256, 1'024, 4'096}},
};

class Overload {
 public:
  explicit Overload(const OverloadOptions& options) : options_(options), work_(options.work) {}

  absl::Status Run() {
    PrintMachine();
    if (absl::Status started = Start(); !started.ok()) return started;
    std::printf(
        "| load | in flight at most | offered/s | good/s | of the peak | refused | late | not sent "
        "| p99 of good, ms | resident, MiB |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (const Shape& shape : kShapes) {
      if (!Wanted(shape.option)) continue;
      if (absl::Status measured = Measure(shape); !measured.ok()) return measured;
    }
    return Wanted("isolation") ? MeasureIsolation() : absl::OkStatus();
  }

 private:
  bool Wanted(const char* part) const { return options_.only.empty() || options_.only == part; }

  void PrintMachine() const {
    const Machine machine = LookAtMachine(work_.path());
    std::printf("%d cores, %s, %.0f GiB; Linux %s, %s\n\n", machine.cores,
                machine.processor.c_str(), machine.memory_bytes / (1 << 30), machine.kernel.c_str(),
                machine.file_system.c_str());
  }

  // A server of its own for each part: what earlier ones stored is not in its way.
  absl::Status Start() {
    channels_.clear();
    peer_.reset();
    const std::string folder = work_.MakeFolder();
    const std::string config = folder + "/onced.yaml";
    std::ofstream(config) << "namespaces: {flood: {quota: {rate: " << kQuota << ", burst: 100}}}\n";
    for (const PeerKind& kind : GrpcPeers()) {
      if (kind.name != "onced-unary") continue;
      auto peer = kind.start({.folder = folder,
                              .core = options_.server_core,
                              .onced_flags = {"--config", config, "--executors", "1"}});
      if (!peer.ok()) return peer.status();
      peer_ = *std::move(peer);
    }
    auto channels = Connect(peer_->address(), kConnections);
    if (!channels.ok()) return channels.status();
    channels_ = *std::move(channels);
    return absl::OkStatus();
  }

  absl::StatusOr<OpenLoadResult> RunLoad(OpenLoadOptions load) {
    load.warm_up = options_.warm_up;
    load.duration = options_.duration;
    load.seed = ++seed_;
    OpenLoadResult result = RunOpenLoad(channels_, load);
    if (result.failed == 0) return result;
    return absl::DataLossError(absl::StrCat(result.failed, " of ", result.due,
                                            " operations failed, such as: ", result.failure));
  }

  void Print(const Shape& shape, int pool, const std::string& offered, const OpenLoadResult& result,
             double share) const {
    const auto due = static_cast<double>(std::max<std::uint64_t>(result.due, 1));
    const auto percent = [due](std::uint64_t count) {
      return absl::StrFormat("%.0f%%", 100 * static_cast<double>(count) / due);
    };
    std::printf("| %s | %d | %s | %.0f | %.2f | %s | %s | %s | %.0f | %.0f |\n", shape.name, pool,
                offered.c_str(), result.GoodPerSecond(), share, percent(result.refused).c_str(),
                percent(result.late).c_str(), percent(result.lost).c_str(),
                Millis(result.latency.Percentile(0.99)), ResidentBytes(peer_->pid()) / kMiB);
    std::fflush(stdout);
  }

  absl::Status Measure(const Shape& shape) {
    OpenLoadOptions load{.name_space = "load", .operations = shape.operations};
    double peak = 0;
    for (const int pool : shape.pools) {
      load.in_flight_max = pool;
      const auto result = RunLoad(load);
      if (!result.ok()) return result.status();
      peak = std::max(peak, result->GoodPerSecond());
      Print(shape, pool, "as they are answered", *result, result->GoodPerSecond() / peak);
    }
    load.calls_per_second = options_.times * peak / shape.operations;
    for (const int pool : shape.overloaded) {
      load.in_flight_max = pool;
      const auto result = RunLoad(load);
      if (!result.ok()) return result.status();
      Print(shape, pool, absl::StrFormat("%.0f", result->DuePerSecond()), *result,
            result->GoodPerSecond() / peak);
    }
    return absl::OkStatus();
  }

  // One namespace alone, and beside another that floods, in turns.
  absl::Status MeasureIsolation() {
    if (absl::Status started = Start(); !started.ok()) return started;
    std::printf(
        "\n| round | p50 alone, ms | p99 alone | p50 beside the flood | p99 beside it | p50 ratio "
        "| "
        "p99 ratio | of the flood: offered/s | granted/s "
        "|\n|---|---|---|---|---|---|---|---|---|\n");
    std::vector<double> p50;
    std::vector<double> p99;
    for (int round = 1; round <= options_.rounds; ++round) {
      const auto alone = RunLoad(Quiet());
      if (!alone.ok()) return alone.status();
      const auto both = RunBeside();
      if (!both.ok()) return both.status();
      const auto& [beside, flood] = *both;
      const auto at = [](const OpenLoadResult& result, double share) {
        return Millis(result.latency.Percentile(share));
      };
      p50.push_back(at(beside, 0.5) / at(*alone, 0.5));
      p99.push_back(at(beside, 0.99) / at(*alone, 0.99));
      std::printf("| %d | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.0f | %.0f |\n", round,
                  at(*alone, 0.5), at(*alone, 0.99), at(beside, 0.5), at(beside, 0.99), p50.back(),
                  p99.back(), flood.DuePerSecond(), flood.GoodPerSecond());
      std::fflush(stdout);
    }
    std::printf("| median | | | | | %.2f | %.2f | | |\n", Median(p50), Median(p99));
    return absl::OkStatus();
  }

  static OpenLoadOptions Quiet() {
    return {.name_space = "quiet", .in_flight_max = 256, .calls_per_second = kQuietRate};
  }

  absl::StatusOr<std::pair<OpenLoadResult, OpenLoadResult>> RunBeside() {
    OpenLoadOptions flood{.name_space = "flood",
                          .in_flight_max = 4'096,
                          .calls_per_second = kFloodTimes * kQuota,
                          .warm_up = options_.warm_up,
                          .duration = options_.duration,
                          .seed = ++seed_};
    OpenLoadResult flooded;
    // Connections of its own, as another client has.
    auto channels = Connect(peer_->address(), 2);
    if (!channels.ok()) return channels.status();
    std::thread thread([&] { flooded = RunOpenLoad(*channels, flood); });
    auto beside = RunLoad(Quiet());
    thread.join();
    if (!beside.ok()) return beside.status();
    if (flooded.failed > 0) return absl::DataLossError(flooded.failure);
    return std::make_pair(*std::move(beside), std::move(flooded));
  }

  const OverloadOptions options_;
  WorkFolder work_;
  std::unique_ptr<Peer> peer_;
  Channels channels_;
  std::uint64_t seed_ = 0;
};

}  // namespace

absl::Status MeasureOverload(const OverloadOptions& options) {
  RunOn(options.load_core);
  // As in the server: the load has a core, and is to fill the server's.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return Overload(options).Run();
}

}  // namespace onced::bench
