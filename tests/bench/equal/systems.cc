#include "tests/bench/equal/systems.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <utility>

#include "tests/bench/load/work_folder.h"
#include "tests/bench/peers/packaged.h"

namespace onced::bench {
namespace {

struct Running {
  std::unique_ptr<WorkFolder> folder;  // First: outlives the server.
  absl::StatusOr<std::unique_ptr<Peer>> peer;
};

// Ends them before main() does.
class AllRunning : public testing::Environment {
 public:
  void TearDown() override { running_.clear(); }

  absl::StatusOr<Peer*> Get(const System& system) {
    auto found = running_.find(system.name);
    if (found == running_.end()) {
      auto folder = std::make_unique<WorkFolder>(testing::TempDir());
      auto peer = system.start({.folder = folder->MakeFolder()});
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

// A row of the benchmark's own, under a policy with short leases.
System OncedBy(const std::string& name) {
  const auto start = [name](PeerOptions options) -> absl::StatusOr<std::unique_ptr<Peer>> {
    const std::string config = options.folder + "/onced.yaml";
    std::ofstream(config) << "default_policy:\n  lease: {default: " << kShortLease.count()
                          << "ms}\n";
    options.onced_flags = {"--config", config};
    for (const PeerKind& kind : GrpcPeers()) {
      if (kind.name == name) return kind.start(options);
    }
    return absl::NotFoundError("no peer is called " + name);
  };
  return {name, start};
}

}  // namespace

std::vector<System> SystemsOfMany() {
  return {
      {"redis-aof-always",
       [](const PeerOptions& o) { return StartRedis(o, RedisLog::kSyncedAlways, kTerms); }},
      {"redis-no-persistence",
       [](const PeerOptions& o) { return StartRedis(o, RedisLog::kNone, kTerms); }},
      {"postgres", [](const PeerOptions& o) { return StartPostgres(o, kTerms); }},
      OncedBy("onced-batch"),
  };
}

std::vector<System> Systems() {
  std::vector<System> systems = SystemsOfMany();
  systems.push_back(OncedBy("onced-unary"));
  return systems;
}

absl::StatusOr<Peer*> RunningPeer(const System& system) { return kRunning->Get(system); }

}  // namespace onced::bench
