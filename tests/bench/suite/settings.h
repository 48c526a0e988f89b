// How much a suite does.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/driver.h"

namespace onced::bench {

struct Settings {
  // Each round runs every cell of a table once, so that what disturbs the machine
  // disturbs all alike.
  int rounds = 5;
  Clock::duration warm_up = std::chrono::milliseconds(400);
  Clock::duration duration = std::chrono::milliseconds(600);
  std::vector<int> callers = {1, 16, 64, 256};
  std::int64_t replayed_records = 5'000;
  std::int64_t few_records = 10'000;
  std::int64_t many_records = 10'000'000;
  std::int64_t swept_records = 120'000;  // Anew in each round.
  bool long_sweep = true;                // A sweep outlasts the measurement, or it fails.
  // Of controls, in which something goes on beside the load.
  int control_rounds = 3;
  Clock::duration control_duration = std::chrono::seconds(2);
  double writer_rate = 1'500;  // Messages a second.
  double sweep_rate = 1'000;
  int instruction_calls = 2'000;  // 0: not measured. Twenty times as slow as others.

  std::vector<std::string> tables;  // Only these; all if empty.
  std::string work = "/var/tmp";    // On the disk to be measured.
  std::optional<int> server_core;
  std::optional<int> load_core;
};

// Under two minutes, to see that all of it works: its figures mean nothing.
Settings QuickSettings();

}  // namespace onced::bench
