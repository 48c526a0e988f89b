// The cells of tables that are nothing but rounds of cells.
#pragma once

#include <vector>

#include "tests/bench/report/results.h"
#include "tests/bench/suite/settings.h"

namespace onced::bench {

// One operation a message, every key a new one; and what a sync takes meanwhile.
std::vector<Cell> FreshCells(const Settings& settings);
// 64 operations a message.
std::vector<Cell> BatchCells();
// All the other workloads.
std::vector<Cell> WorkloadCells();
// An open loop for all, at half of what onced did in a closed one (1,000/s if it didn't).
std::vector<Cell> OpenCells(const Results& results);

}  // namespace onced::bench
