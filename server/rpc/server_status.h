// What an operator may ask of a running server as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace onced {

struct ServerStatus {
  std::string version;
  absl::Time start_time;
  bool draining = false;
  std::uint64_t sessions = 0;

  absl::Time time;  // That the server goes by.
  absl::Duration clock_step;
  absl::Time clock_mark;

  bool store_failed = false;
  bool low_on_space = false;
  std::uint64_t free_bytes = 0;
  std::uint64_t key_count = 0;

  std::optional<absl::Time> last_sweep;
  std::uint64_t useless_bytes = 0;
};

}  // namespace onced
