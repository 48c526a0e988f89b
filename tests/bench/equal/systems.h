// The servers that have to mean the same.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/peer.h"

namespace onced::bench {

// So short that a test can wait for its end, so long that what a test does before
// doesn't outlast it.
inline constexpr std::chrono::milliseconds kShortLease{1'500};

struct System {
  std::string name;
  std::function<absl::StatusOr<std::unique_ptr<Peer>>(const PeerOptions&)> start;
  friend std::ostream& operator<<(std::ostream& out, const System& s) { return out << s.name; }
};

std::vector<System> Systems();
// Those that take many steps in a message.
std::vector<System> SystemsOfMany();

// Started at its first use; runs until the test program's end.
absl::StatusOr<Peer*> RunningPeer(const System& system);

}  // namespace onced::bench
