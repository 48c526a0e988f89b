// onced_bench overload.
#pragma once

#include "absl/status/status.h"
#include "tests/bench/cli/arguments.h"

namespace onced::bench {

absl::Status OverloadCommand(Arguments arguments);

}  // namespace onced::bench
