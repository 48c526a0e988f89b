// Lets others run who are about to add to a queue.
#pragma once

#include <cstddef>
#include <thread>

#include "absl/functional/function_ref.h"

namespace onced {

// Yields the core up to `most` times, as long as `size`, of what has been added,
// grows: who would add something but waits for a core comes along. With nobody
// waiting it takes a microsecond.
inline void YieldWhileGrowing(int most, absl::FunctionRef<std::size_t()> size) {
  std::size_t had = 0;
  for (int i = 0; i < most; ++i) {
    const std::size_t has = size();
    if (has == had) return;
    had = has;
    std::this_thread::yield();
  }
}

}  // namespace onced
