// The results for readers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/report/machine.h"
#include "tests/bench/report/results.h"

namespace onced::bench {

struct Report {
  const Results& results;
  Machine machine;
  std::string command;
  std::string how;                              // "5 rounds of 0.75 s each": a sentence.
  std::map<std::string, std::string> versions;  // By server.
};

// The goals, the tables, and what they were measured on.
std::string ToMarkdown(const Report& report);

// A line a series, its medians; the first line names the columns.
std::string ToCsv(const Results& results);

inline constexpr char kPartBegin[] = "<!-- From here on written by onced_bench. -->";
inline constexpr char kPartEnd[] = "<!-- Up to here written by onced_bench. -->";

// `document` with `part` between the two lines above, in place of what was there.
absl::StatusOr<std::string> Splice(const std::string& document, const std::string& part);

}  // namespace onced::bench
