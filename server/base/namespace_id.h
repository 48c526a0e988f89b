// A namespace, as the metrics know it.
#pragma once

#include <cstdint>

namespace onced {

// Which of the namespaces that the configuration lists; zero: none of them. So that
// there are no more series than those.
struct NamespaceId {
  std::uint32_t value = 0;
  bool operator==(const NamespaceId&) const = default;
};

}  // namespace onced
