// All that is measured, in one run.
#pragma once

#include "absl/status/status.h"
#include "tests/bench/suite/lab.h"

namespace onced::bench {

// What it asks of servers is in the lab's results afterwards, also in part if it fails.
absl::Status RunSuite(Lab& lab);

// Fails if a row has neither samples nor a reason why not, or if a table is missing.
absl::Status CheckComplete(const Results& results, const Settings& settings);

}  // namespace onced::bench
