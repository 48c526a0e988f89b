// onced_bench suite: everything, and a report.
#pragma once

#include "absl/status/status.h"
#include "tests/bench/cli/arguments.h"

namespace onced::bench {

absl::Status SuiteCommand(Arguments arguments);

}  // namespace onced::bench
