// Loads beside which something else goes on, and the same loads without it.
#pragma once

#include "absl/status/status.h"
#include "tests/bench/suite/lab.h"

namespace onced::bench {

// Replays, while a writer keeps the disk busy: at the same onced, or at another one.
absl::Status MeasureBesideWriter(Lab& lab);
// Fresh reserves at a store with few live records, and at one with many.
absl::Status MeasureSizes(Lab& lab);
// Pairs of which all soon expire: without the sweeper, and while it rewrites files.
absl::Status MeasureSweep(Lab& lab);

}  // namespace onced::bench
