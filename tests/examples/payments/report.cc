#include "tests/examples/payments/report.h"

#include <cstdio>

namespace onced::examples {

std::vector<std::string> Report::Missing() const {
  std::vector<std::string> missing;
  for (const auto& [what, count] : rows_) {
    if (count == 0) missing.push_back(what);
  }
  return missing;
}

void Report::Print() const {
  for (const auto& [what, count] : rows_) {
    std::printf("%8lld  %s\n", static_cast<long long>(count), what.c_str());
  }
}

}  // namespace onced::examples
