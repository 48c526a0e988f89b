// What gRPC's library takes from this program instead of its own.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace onced {

// That every connection of a server's is watched by a FrameWatch, and that a client which
// doesn't acknowledge settings is bound by ours nevertheless; else the server should not
// start.
absl::Status CheckTransportsAreWatched();

// Connections of this process that a FrameWatch had ended. Threads: any.
std::uint64_t ConnectionsEnded();

}  // namespace onced
