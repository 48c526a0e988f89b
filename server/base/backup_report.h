// What a backup that was made and verified is like.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace onced {

struct BackupReport {
  std::uint32_t id = 0;
  absl::Time cut_time;  // All that was acknowledged before is in it.
  std::uint64_t size_bytes = 0;
  std::uint64_t file_count = 0;
  bool operator==(const BackupReport&) const = default;
};

}  // namespace onced
