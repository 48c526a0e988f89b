// How much work a call is for the server, whatever else the machine does.
#pragma once

#include "absl/status/status.h"
#include "tests/bench/suite/lab.h"

namespace onced::bench {

// Instructions of a Reserve in user space, at the echo and at onced, counted by
// callgrind: what many calls took less what few did. Skipped where there is no valgrind.
absl::Status MeasureInstructions(Lab& lab);

}  // namespace onced::bench
