// What callers ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/driver.h"

namespace onced::bench {

// The first byte of a key tells what its answer has to be, so that a server which
// keeps nothing can give an answer of the right shape.
inline constexpr char kFreshKey = 'f';
inline constexpr char kCommittedKey = 'c';
inline constexpr char kContestedKey = 'h';

// What is committed: bytes that don't compress, the same at every call.
const std::string& ResultBody();

// Threads: the load's.
// Promise: what it asks for and expects depends on its seed and on the answers only.
class Workload {
 public:
  virtual ~Workload() = default;
  // The next message of a caller whose last one has completed. `steps` holds the
  // caller's last ones, to be overwritten; their number stays.
  virtual void Next(int caller, std::vector<Step>& steps) = 0;
  // What became of it; as_expected for every outcome.
  virtual void Completed(int /*caller*/, const std::vector<Outcome>& /*outcomes*/) {}
  // Whether this caller has anything left to do.
  virtual bool HasNext(int /*caller*/) const { return true; }
};

struct WorkloadOptions {
  int callers = 1;
  std::uint64_t seed = 1;         // Two runs with the same one use the same keys.
  std::int64_t records = 10'000;  // That are committed before (replays), or that there are (zipf).
};

// What to run before, and then. The first one is null if there is nothing to do.
struct WorkloadPlan {
  std::unique_ptr<Workload> before;
  std::unique_ptr<Workload> measured;
};

// fresh      every key a new one
// pairs      reserve a new key, then commit it with 1 KiB
// replays    of keys committed with 1 KiB
// replays90  the same, and one in ten a new key
// hot        one key that is held by somebody else
// zipf       keys drawn by Zipf's law (0.99), many callers on the frequent ones
absl::StatusOr<WorkloadPlan> MakeWorkload(const std::string& name, const WorkloadOptions& options);
std::vector<std::string> WorkloadNames();

// Reserves `records` new keys and no more, from the number `first` on.
std::unique_ptr<Workload> MakeFill(std::uint64_t seed, std::int64_t records);

}  // namespace onced::bench
