// What one sync of the disk takes: the floor of every durable answer.
#pragma once

#include <chrono>
#include <string>

#include "absl/status/statusor.h"

namespace onced::bench {

struct DiskLatency {
  std::chrono::nanoseconds p50{};
  std::chrono::nanoseconds p99{};
  int syncs = 0;
};

struct DiskLoad {
  std::string folder;  // On the disk to be measured. The file in it is gone afterwards.
  int syncs = 2'000;
  std::size_t append_bytes = 300;  // About a reservation in the log.
};

// Appends to a file, as a log does, with an fdatasync() after each; the latter is what
// is measured.
absl::StatusOr<DiskLatency> MeasureDisk(const DiskLoad& load);

}  // namespace onced::bench
