// onced_bench run: one load at one server, by hand.
#pragma once

#include "absl/status/status.h"
#include "tests/bench/cli/arguments.h"

namespace onced::bench {

absl::Status RunCommand(Arguments arguments);

}  // namespace onced::bench
