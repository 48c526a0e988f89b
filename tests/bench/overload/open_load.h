// Reserves that come whether or not the server can carry them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/driver.h"
#include "tests/bench/load/histogram.h"

namespace onced::bench {

struct OpenLoadOptions {
  std::string name_space;
  int operations = 1;  // A call; more than one: a Batch.
  // Calls of this load that may be in flight at once, as of a pool of workers. One that
  // is due when all are busy is lost: nobody would wait for it.
  int in_flight_max = 64;
  // Calls a second. 0: each of the pool calls again as soon as it is answered.
  double calls_per_second = 0;
  std::chrono::milliseconds deadline{500};            // From when it is due.
  Clock::duration warm_up = std::chrono::seconds(1);  // Not counted.
  Clock::duration duration = std::chrono::seconds(3);
  std::uint64_t seed = 1;  // Of keys and times.
};

// Operations, of calls that were due within the duration.
struct OpenLoadResult {
  std::uint64_t due = 0;
  std::uint64_t lost = 0;     // Never sent.
  std::uint64_t good = 0;     // Granted, before the deadline.
  std::uint64_t refused = 0;  // RESOURCE_EXHAUSTED.
  std::uint64_t late = 0;     // DEADLINE_EXCEEDED, or answered after it.
  std::uint64_t failed = 0;   // With anything else: not expected.
  std::string failure;        // Of one of them.
  Histogram latency;          // Of good calls, from when they were due.
  double seconds = 0;

  double GoodPerSecond() const { return static_cast<double>(good) / seconds; }
  double DuePerSecond() const { return static_cast<double>(due) / seconds; }
};

// Calls by turns over these connections. Returns when all are answered.
// Threads: the caller's alone.
OpenLoadResult RunOpenLoad(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                           const OpenLoadOptions& options);

}  // namespace onced::bench
