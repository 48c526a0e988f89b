// What bounds a server: a disk's sync, and a store without a server.
#pragma once

#include <vector>

#include "tests/bench/suite/lab.h"

namespace onced::bench {

std::vector<Baseline> AllBaselines();

}  // namespace onced::bench
