#include "tests/bench/cli/peers.h"

namespace onced::bench {

std::vector<PeerKind> AllPeers() {
  std::vector<PeerKind> kinds = GrpcPeers();
  for (PeerKind& kind : PackagedPeers()) kinds.push_back(std::move(kind));
  return kinds;
}

}  // namespace onced::bench
