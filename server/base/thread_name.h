// Names of threads, as top and a debugger show them.
#pragma once

#include <pthread.h>

#include <string>

#include "absl/strings/string_view.h"

namespace onced {

// At most 15 bytes of the name count, which is the kernel's bound.
inline void NameThisThread(absl::string_view name) {
  constexpr std::size_t kBytesMax = 15;
  const std::string kept(name.substr(0, kBytesMax));
  // Ignored: a name is a convenience.
  (void)pthread_setname_np(pthread_self(), kept.c_str());
}

}  // namespace onced
