// File descriptors: how many there may be.
#pragma once

#include <cstddef>

namespace onced {

// Raises this process's bound as far as it goes without privileges, and says how
// many descriptors it may have open.
std::size_t RaiseDescriptorLimit();

// How many of `descriptors` are left for connections: the store has one for each of
// its files, and those grow with it. At least 1, at most 10,000.
std::size_t ConnectionsFor(std::size_t descriptors);

}  // namespace onced
