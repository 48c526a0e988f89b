// What becomes of the server under more load than it can carry.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tests/bench/driver.h"

namespace onced::bench {

struct OverloadOptions {
  std::string work = "/var/tmp";
  // Apart, so that the load doesn't take the server's time.
  std::optional<int> server_core = 0;
  std::optional<int> load_core = 1;
  Clock::duration warm_up = std::chrono::seconds(1);
  Clock::duration duration = std::chrono::seconds(4);
  int rounds = 3;
  double times = 5;  // Of what it can carry.
  std::string only;  // "reserve", "batch" or "isolation"; empty: all of them.
};

// Prints tables in Markdown. An error if something could not be measured; a figure that
// is missed is no error.
absl::Status MeasureOverload(const OverloadOptions& options);

}  // namespace onced::bench
