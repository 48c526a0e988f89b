// One load thread at one server.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/driver.h"
#include "tests/bench/load/histogram.h"
#include "tests/bench/load/workload.h"

namespace onced::bench {

struct LoadOptions {
  int callers = 1;
  int steps = 1;                                      // A message.
  Clock::duration warm_up = std::chrono::seconds(1);  // Done, but not counted.
  Clock::duration duration = std::chrono::seconds(5);
  // Messages a second that come whether or not earlier ones have been answered: an
  // open loop. 0: each caller asks again as soon as it is answered, a closed loop.
  double messages_per_second = 0;
  std::uint64_t seed = 1;  // Of when they come.
  // That the driver goes by. A test's driver may have its own.
  std::function<Clock::time_point()> now = Clock::now;
};

struct LoadResult {
  std::uint64_t steps = 0;      // Answered within the duration.
  std::uint64_t all_steps = 0;  // With the warm-up's.
  Clock::duration duration{};
  // Of messages. In an open loop, from when it was to be sent: a server that stalls
  // pays for all who would have asked meanwhile.
  Histogram latency;
  // The load thread's CPU, and all of it there was: near 1, the load is the bound.
  double load_cpu = 0;

  double StepsPerSecond() const {
    return static_cast<double>(steps) / std::chrono::duration<double>(duration).count();
  }
};

// Fails at an answer that isn't as expected, and if answers stay away.
absl::StatusOr<LoadResult> RunLoad(Driver& driver, Workload& workload, const LoadOptions& options);

// Until no caller has anything left to do; by so many callers, and so many steps a message.
absl::Status RunToEnd(Driver& driver, Workload& workload, int callers, int steps);

}  // namespace onced::bench
