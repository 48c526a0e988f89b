// CHECK is for bugs of this program, never for bytes from disk or the net.
#pragma once

namespace onced {

// Prints one line to stderr and aborts.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace onced

#define ONCED_CHECK(condition) \
  ((condition) ? void(0) : ::onced::CheckFailed(#condition, __FILE__, __LINE__))
