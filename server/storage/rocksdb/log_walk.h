// Which writes are in a log, by its entries alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace onced {

// Writes that follow each other, by their numbers; both are in it.
struct WriteRun {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool operator==(const WriteRun&) const = default;
};

struct LogContent {
  bool begins = false;         // With a whole entry.
  std::vector<WriteRun> runs;  // One, if nothing is amiss.
};

// Reads the log from its beginning to its end, or to the first entry that is not
// whole. Zeros within a block are passed over up to its end, as RocksDB does,
// which takes them for space that was set aside: a hole shows between two runs.
absl::StatusOr<LogContent> WalkLog(rocksdb::Env& env, const std::string& path);

}  // namespace onced
