#include "server/base/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace onced {
namespace {

// What nothing in this program needs more of; an unlimited bound is taken for that.
constexpr rlim_t kDescriptorsMax = 1 << 20;

}  // namespace

std::size_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;  // Linux' own bound.
  rlimit raised = limit;
  raised.rlim_cur = std::min(limit.rlim_max, std::max(limit.rlim_cur, kDescriptorsMax));
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return static_cast<std::size_t>(std::min(limit.rlim_cur, kDescriptorsMax));
}

std::size_t ConnectionsFor(std::size_t descriptors) {
  constexpr std::size_t kMost = 10'000;
  constexpr std::size_t kOthers = 512;  // At the least.
  const std::size_t others = std::max(kOthers, descriptors / 4);
  return std::clamp<std::size_t>(descriptors - std::min(others, descriptors), 1, kMost);
}

}  // namespace onced
