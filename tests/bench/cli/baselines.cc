#include "tests/bench/cli/baselines.h"

#include "tests/bench/peers/disk_latency.h"
#include "tests/bench/peers/rocks_baseline.h"
#include "tests/bench/report/tables.h"

namespace onced::bench {
namespace {

constexpr int kSyncs = 500;

double Micros(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

absl::StatusOr<Sample> MeasureSyncs(const Cell&, const std::string& folder, Clock::duration) {
  const auto disk = MeasureDisk({.folder = folder, .syncs = kSyncs});
  if (!disk.ok()) return disk.status();
  const double p50 = Micros(disk->p50);
  return Sample{.per_second = p50 > 0 ? 1e6 / p50 : 0, .p50 = p50, .p99 = Micros(disk->p99)};
}

absl::StatusOr<Sample> MeasureWrites(const Cell& cell, const std::string& folder,
                                     Clock::duration duration) {
  const auto rate =
      MeasureRocks({.folder = folder,
                    .writers = cell.callers,
                    .batch = cell.steps,
                    .duration = std::chrono::duration_cast<std::chrono::milliseconds>(duration)});
  if (!rate.ok()) return rate.status();
  return Sample{.per_second = rate->records_per_second};
}

}  // namespace

std::vector<Baseline> AllBaselines() {
  return {
      {.name = kDiskPeer, .what = "an append of 300 bytes, synced", .measure = MeasureSyncs},
      {.name = kRocksPeer,
       .what = "RocksDB by itself, each batch synced, a thread a caller",
       .measure = MeasureWrites},
  };
}

}  // namespace onced::bench
