// How many threads are worth starting.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace onced {

// Cores that this process may use: those of its CPU mask, or fewer where a
// cgroup (v2) grants less time than that. At least 1.
std::uint32_t AvailableCores();

// Threads to run for `shards` shards: `executors` if that is not 0, else one
// for each core; never more than shards, since a shard has one thread.
std::uint32_t ExecutorCount(std::uint32_t executors, std::uint32_t cores, std::uint32_t shards);

// Cores' worth of time that a cgroup's cpu.max ("max 100000", "150000 100000")
// grants, rounded up; 0 if it sets no limit or can't be read.
std::uint32_t CoresOfCpuMax(absl::string_view cpu_max);

}  // namespace onced
