// Where cells are measured: servers that run, and what is known of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/load/runner.h"
#include "tests/bench/load/work_folder.h"
#include "tests/bench/peer.h"
#include "tests/bench/report/results.h"
#include "tests/bench/suite/settings.h"

namespace onced::bench {

// To fill a server fast.
inline constexpr int kPrepareCallers = 64;

// What is no server, but is measured among them: a disk, a store without one.
struct Baseline {
  std::string name;
  std::string what;
  std::function<absl::StatusOr<Sample>(const Cell& cell, const std::string& folder,
                                       Clock::duration duration)>
      measure;
};

// A server that runs, and how it is asked. Not the owner.
struct Target {
  const PeerKind* kind = nullptr;
  Peer* peer = nullptr;
};

// Threads:  one, which makes the load.
// Lifetime: `kinds`, `baselines` and `settings` outlive it. The servers that it has
//           started are stopped by whoever has them.
class Lab {
 public:
  Lab(const std::vector<PeerKind>& kinds, const std::vector<Baseline>& baselines,
      const Settings& settings);

  const Settings& settings() const { return settings_; }
  WorkFolder& work() { return work_; }
  Results& results() { return results_; }
  const Results& results() const { return results_; }
  // Versions, by server.
  const std::map<std::string, std::string>& versions() const { return versions_; }

  // nullptr if this build has none of that name.
  const PeerKind* Kind(const std::string& name) const;
  // In a new folder, or `options.folder` where it is given. FAILED_PRECONDITION: it
  // can't be had here.
  absl::StatusOr<std::unique_ptr<Peer>> Start(const std::string& name, PeerOptions options = {});

  // Rounds of all cells, the servers side by side. Cells of one that can't be had are
  // skipped; any other error ends it.
  absl::Status MeasureTable(const std::vector<Cell>& cells);

  // One cell in one round, by a new driver and new keys, and what they need before.
  absl::StatusOr<Sample> Measure(Target target, const Cell& cell, Clock::duration duration);
  // Adds it to the results.
  absl::Status MeasureInto(Target target, const Cell& cell, Clock::duration duration);

  // Runs it through, by messages of many steps if the server takes such.
  absl::Status Prepare(Target target, Workload& workload, int callers = kPrepareCallers);

  std::uint64_t NextSeed() { return ++seed_; }

 private:
  struct Servers;
  absl::Status MeasureRound(Servers& servers, const std::vector<Cell>& cells, int round);
  absl::Status MeasureOne(Servers& servers, const Cell& cell);
  absl::StatusOr<Sample> MeasureBaseline(const Baseline& baseline, const Cell& cell);

  const std::vector<PeerKind>& kinds_;
  const std::vector<Baseline>& baselines_;
  const Settings& settings_;
  WorkFolder work_;
  Results results_;
  std::map<std::string, std::string> versions_;
  std::uint64_t seed_ = 0;
};

// A line for whoever watches.
void Tell(const std::string& line);

}  // namespace onced::bench
