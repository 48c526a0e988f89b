#include "server/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace onced {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "onced: bug: %s:%d: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace onced
