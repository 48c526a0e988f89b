// A record's way to its bytes and back, and the unit of work that carries it.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "server/storage/codec/record_codec.h"
#include "server/storage/unit_of_work.h"
#include "tests/bench/micro/sample.h"

namespace onced::micro {
namespace {

void Encode(benchmark::State& state, const Record& record) {
  std::size_t size = 0;
  for (auto _ : state) {
    const std::string bytes = EncodeRecord(record);
    benchmark::DoNotOptimize(bytes.data());
    size = bytes.size();
  }
  state.counters["bytes"] = static_cast<double>(size);
}

void Decode(benchmark::State& state, const Record& record) {
  const std::string bytes = EncodeRecord(record);
  for (auto _ : state) {
    benchmark::DoNotOptimize(DecodeRecord(bytes));
  }
}

void Encode_Pending(benchmark::State& state) { Encode(state, SamplePending()); }
void Encode_Committed(benchmark::State& state) { Encode(state, SampleCommitted()); }
void Decode_Pending(benchmark::State& state) { Decode(state, SamplePending()); }
void Decode_Committed(benchmark::State& state) { Decode(state, SampleCommitted()); }

void Encode_Key(benchmark::State& state) {
  const RecordKey key{"bench", KeyOf(1)};
  for (auto _ : state) {
    benchmark::DoNotOptimize(EncodeKey(key));
  }
}

// So many keys are named, each found absent and written.
void UnitOfWork_Fresh(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const Record record = SamplePending();
  std::vector<RecordKey> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back({"bench", KeyOf(i)});
  constexpr std::uint32_t kShards = 16;
  for (auto _ : state) {
    UnitOfWork work;
    std::vector<UnitOfWork::Slot> slots;
    for (std::size_t i = 0; i < count; ++i) {
      const ShardId shard{static_cast<std::uint32_t>(i) % kShards};
      work.SetLastFence(shard, {1});
      slots.push_back(work.Want(shard, keys[i]));
    }
    for (const UnitOfWork::Slot slot : slots) {
      benchmark::DoNotOptimize(work.Find(slot));
      Record written = record;
      written.fence = work.NextFence(slot, Now());
      work.Put(slot, std::move(written));
    }
    benchmark::DoNotOptimize(work.RaisedFences());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(Encode_Key);
BENCHMARK(Encode_Pending);
BENCHMARK(Encode_Committed);
BENCHMARK(Decode_Pending);
BENCHMARK(Decode_Committed);
BENCHMARK(UnitOfWork_Fresh)->Arg(1)->Arg(64);

}  // namespace
}  // namespace onced::micro
