// What a target asks of the code under it.
#pragma once

#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onced::fuzz {

// Throws: a test that runs a corpus can tell which file it was, and libFuzzer takes
// an exception that nobody catches for a crash, with the stack as it was.
inline void Demand(bool condition, absl::string_view what, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  if (!condition) throw std::logic_error(absl::StrCat(file, ":", line, ": ", what));
}

}  // namespace onced::fuzz
