// What the server is asked for, and what it does: each row of this list says how it
// is worked out from the results.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/report/results.h"

namespace onced::bench {

enum class Verdict { kMet, kMissed, kReported, kNotMeasured };

struct Goal {
  std::string what;
  std::string asked;
  std::string measured;
  Verdict verdict = Verdict::kNotMeasured;
};

// All of them, in the same order, whatever there is in `results`.
std::vector<Goal> JudgeGoals(const Results& results);

// "met", ...
std::string ToText(Verdict verdict);

}  // namespace onced::bench
