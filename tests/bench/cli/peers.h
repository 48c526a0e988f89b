// Every server that this build can measure.
#pragma once

#include <vector>

#include "tests/bench/peer.h"

namespace onced::bench {

std::vector<PeerKind> AllPeers();

}  // namespace onced::bench
