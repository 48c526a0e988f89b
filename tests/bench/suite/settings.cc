#include "tests/bench/suite/settings.h"

namespace onced::bench {

Settings QuickSettings() {
  using std::chrono::milliseconds;
  return {.rounds = 1,
          .warm_up = milliseconds(50),
          .duration = milliseconds(150),
          .callers = {1, 64},
          .replayed_records = 1'000,
          .few_records = 1'000,
          .many_records = 50'000,
          .swept_records = 5'000,
          .long_sweep = false,
          .control_rounds = 1,
          .control_duration = milliseconds(500),
          .writer_rate = 300,
          .sweep_rate = 300,
          .instruction_calls = 0};
}

}  // namespace onced::bench
