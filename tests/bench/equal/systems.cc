#include "tests/bench/equal/systems.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/bench/peers/packaged.h"
#include "tests/integration/temp_dir.h"

namespace onced::bench {
namespace {

struct Running {
  std::unique_ptr<integration::TempDir> folder;  // First: outlives the server.
  absl::StatusOr<std::unique_ptr<Peer>> peer;
};

// Ends them before main() does.
class AllRunning : public testing::Environment {
 public:
  void TearDown() override { running_.clear(); }

  absl::StatusOr<Peer*> Get(const System& system) {
    auto found = running_.find(system.name);
    if (found == running_.end()) {
      auto folder = std::make_unique<integration::TempDir>();
      auto peer = system.start({.folder = folder->path()});
      found = running_.emplace(system.name, Running{std::move(folder), std::move(peer)}).first;
    }
    if (!found->second.peer.ok()) return found->second.peer.status();
    return found->second.peer->get();
  }

 private:
  std::map<std::string, Running> running_;
};

// Owned by gtest from then on.
AllRunning* const kRunning = new AllRunning;
const testing::Environment* const kRegistered = testing::AddGlobalTestEnvironment(kRunning);

constexpr Terms kTerms{.lease_ms = kShortLease.count()};

}  // namespace

std::vector<System> SystemsOfMany() {
  return {
      {"redis-aof-always",
       [](const PeerOptions& o) { return StartRedis(o, RedisLog::kSyncedAlways, kTerms); }},
      {"redis-no-persistence",
       [](const PeerOptions& o) { return StartRedis(o, RedisLog::kNone, kTerms); }},
      {"postgres", [](const PeerOptions& o) { return StartPostgres(o, kTerms); }},
  };
}

std::vector<System> Systems() { return SystemsOfMany(); }

absl::StatusOr<Peer*> RunningPeer(const System& system) { return kRunning->Get(system); }

}  // namespace onced::bench
