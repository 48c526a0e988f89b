// Routing, one drain, and the way to an executor's thread and back.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <semaphore>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/quiet_telemetry.h"
#include "server/base/random.h"
#include "server/shard/shard_group.h"
#include "server/shard/shard_map.h"
#include "server/shard/shard_set.h"
#include "server/storage/memory/memory_store.h"
#include "tests/bench/micro/sample.h"

namespace onced::micro {
namespace {

void ShardOfKey(benchmark::State& state) {
  const ShardMap map({.shards = 16, .hash_seed = {1, 2, 3}});
  const RecordKey key{"bench", KeyOf(1)};
  for (auto _ : state) {
    benchmark::DoNotOptimize(map.ShardOf(key));
  }
}

// ---- ShardGroup::Execute(), on a store in memory that encodes and decodes as a real
// ---- one does. It counts what making the requests takes: Drain_Make is that alone.

constexpr std::uint32_t kShards = 16;

Drain MakeDrain(std::size_t count, std::uint64_t first_key, const Operation& operation,
                const Policy& policy) {
  Drain drain;
  drain.requests.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t key = first_key + i;
    drain.requests.push_back(
        {.key = {"bench", KeyOf(key)},
         .operation = operation,
         .policy = &policy,
         .answer = [](const Answer& answer) { benchmark::DoNotOptimize(&answer.reply); },
         .id = {key + 1},
         .shard = {static_cast<std::uint32_t>(key % kShards)},
         .queued_at = Now()});
  }
  return drain;
}

void Drain_Make(benchmark::State& state) {
  const Policy policy;
  const Operation reserve = SampleReserve();
  std::uint64_t key = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        MakeDrain(static_cast<std::size_t>(state.range(0)), key, reserve, policy));
    key += static_cast<std::uint64_t>(state.range(0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Lifetime: from the end to the beginning.
struct Group {
  MemoryDisk disk;
  std::unique_ptr<MemoryStore> store = OpenStore(disk);
  SystemRandom random;
  WaiterCount waiters;
  QuietTelemetry telemetry;
  ShardGroup group{*store, random, waiters, telemetry};

  static std::unique_ptr<MemoryStore> OpenStore(MemoryDisk& disk) {
    SystemRandom seed;
    auto store = *MemoryStore::Open(disk, {.shards = kShards, .wall_now = Now(), .random = seed});
    if (!store->RaiseClockMark(Now() + absl::Seconds(1)).ok()) std::abort();
    return store;
  }
};

void Execute_Fresh(benchmark::State& state) {
  constexpr std::uint64_t kKeysMax = 200'000;  // Then a new store: memory is finite.
  const auto count = static_cast<std::size_t>(state.range(0));
  const Policy policy;
  const Operation reserve = SampleReserve();
  auto group = std::make_unique<Group>();
  std::uint64_t key = 0;
  for (auto _ : state) {
    group->group.Execute(MakeDrain(count, key, reserve, policy), Now());
    key += count;
    if (key < kKeysMax) continue;
    state.PauseTiming();
    group = std::make_unique<Group>();
    key = 0;
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Execute_Replay(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const Policy policy;
  const Operation reserve = SampleReserve();
  Group group;
  Drain first = MakeDrain(count, 0, reserve, policy);
  std::vector<Token> tokens;
  for (Request& request : first.requests) {
    request.answer = [&tokens](const Answer& answer) {
      tokens.push_back(std::get<Fresh>(answer.reply).token);
    };
  }
  group.group.Execute(std::move(first), Now());
  for (std::size_t i = 0; i < count; ++i) {
    group.group.Execute(MakeDrain(1, i, SampleCommit(tokens[i]), policy), Now());
  }
  for (auto _ : state) group.group.Execute(MakeDrain(count, 0, reserve, policy), Now());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// ---- Submit() to answer, over an executor's thread: so many under way, of the
// ---- cheapest kind.

void HandOver(benchmark::State& state) {
  MemoryDisk disk;
  const SystemClock clock;
  SystemRandom seed;
  const auto store =
      *MemoryStore::Open(disk, {.shards = kShards, .wall_now = clock.Now(), .random = seed});
  QuietTelemetry telemetry;
  const Policy policy;
  ShardSet set({.executors = 1}, *store, clock, telemetry);
  std::counting_semaphore<> answered(0);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      set.Submit({.key = {"bench", KeyOf(static_cast<std::uint64_t>(i))},
                  .operation = InspectOp{},
                  .policy = &policy,
                  .answer = [&answered](const Answer&) { answered.release(); }});
    }
    for (std::int64_t i = 0; i < state.range(0); ++i) answered.acquire();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(ShardOfKey);
BENCHMARK(Drain_Make)->Arg(1)->Arg(64);
BENCHMARK(Execute_Fresh)->Arg(1)->Arg(64);
BENCHMARK(Execute_Replay)->Arg(1)->Arg(64);
BENCHMARK(HandOver)->Arg(1)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace onced::micro
