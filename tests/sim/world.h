// A server and its clients in one thread, of which everything is drawn from one
// seed: what they ask, when time passes, what is lost, when it crashes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/shard/marked_clock.h"
#include "server/shard/shard_group.h"
#include "server/shard/shard_map.h"
#include "server/storage/memory/memory_store.h"
#include "tests/sim/checker.h"
#include "tests/sim/hasty_store.h"
#include "tests/sim/lying_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/faulty_store.h"
#include "tests/unit/shard/counting_telemetry.h"
#include "tests/unit/shard/seeded_random.h"

namespace onced::sim {

class World {
 public:
  World(std::uint64_t seed, Lie lie);
  ~World();

  // Lets so many things happen, then lets everything come to its end.
  void Run(int steps);

  // What the checker has to say, and what the world saw itself: a call that was
  // answered twice, a timer that stays in the past.
  std::vector<std::string> Problems() const;
  const History& history() const { return history_; }

 private:
  // One process: it holds nothing that outlives it but the disk.
  struct Server {
    std::unique_ptr<MemoryStore> memory;
    std::unique_ptr<LyingStore> lying;
    std::unique_ptr<FaultyStore> store;
    std::unique_ptr<HastyStore> hasty;  // What the groups are given.
    std::unique_ptr<ShardMap> map;
    WaiterCount waiter_count;
    SeededRandom random{0};
    std::vector<std::unique_ptr<ShardGroup>> groups;
    std::vector<std::unique_ptr<MarkedClock>> clocks;
    std::vector<Drain> mailboxes;
    bool draining = false;
    bool holding = false;  // Nothing becomes durable.
  };
  // One execution by one worker, as far as it knows itself.
  struct Execution {
    RecordKey key;
    std::string request_id;
    std::string fingerprint;
    std::optional<Token> token;
  };

  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  bool Chance(int percent) { return Below(100) < static_cast<std::uint64_t>(percent); }
  template <typename T, std::size_t kCount>
  const T& OneOf(const T (&values)[kCount]) {
    return values[Below(kCount)];
  }

  void Step();
  // ---- Clients ----
  void ReserveSomething();
  void SettleSomething();
  void InspectSomething();
  void OperateOnSomething();
  void LookAtAll();
  void CancelSomething();
  void Send(const RecordKey& key, Operation operation, std::size_t execution);
  void Hear(std::size_t call, std::size_t execution, const Answer& answer);
  absl::Time SomeDeadline();
  Execution* SomeExecution();
  RecordKey SomeKey();

  // ---- The server ----
  void Start(absl::Time wall_now);
  // Answers that were not sent yet are lost; of what the disk was slow to write,
  // some or all.
  void Crash();
  void Stop();
  void Restart(int crash_percent);
  void ExecuteAll();
  void Execute(std::size_t group);
  void SpoilTheDisk();
  void HoldOrRelease();
  void PassTime();
  void Finish();

  std::mt19937_64 random_;
  const Lie lie_;
  std::map<std::string, Policy> policies_;
  std::map<std::string, KeyRules> rules_;
  FakeClock clock_;
  CountingTelemetry telemetry_;
  MemoryDisk disk_;
  std::unique_ptr<Server> server_;
  int process_ = 0;  // How many were started.

  std::uint64_t position_ = 0;  // In the order of all sendings and answers.
  History history_;
  std::vector<std::uint64_t> open_;  // Calls of this process, by index; some are answered.
  std::vector<Execution> executions_;
  std::map<std::string, Fence> fences_;  // Of each key, the last one that anybody was told of.
  std::vector<std::string> problems_;
};

}  // namespace onced::sim
