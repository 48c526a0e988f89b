// What RocksDB does by itself, without a server before it.
#pragma once

#include <chrono>
#include <string>

#include "absl/status/statusor.h"

namespace onced::bench {

struct RocksLoad {
  std::string folder;  // Exists, empty. Full of the database afterwards.
  int writers = 1;     // Threads, each of which waits for its batch.
  int batch = 64;      // Records of one write, over all shards.
  std::chrono::milliseconds duration{3'000};
  // As the server's defaults.
  std::size_t memory_budget_bytes = std::size_t{512} << 20;
  int shards = 16;
};

struct RocksRate {
  double records_per_second = 0;
  std::size_t record_bytes = 0;  // Of key and value, as the server stores them.
};

// Writes reservations by the server's options, each batch synced, and every key a new
// one. Nothing is read, decided or encoded meanwhile.
absl::StatusOr<RocksRate> MeasureRocks(const RocksLoad& load);

}  // namespace onced::bench
