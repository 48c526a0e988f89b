// Decide(): one transition of a key.
#include <benchmark/benchmark.h>

#include <optional>

#include "server/ledger/decide.h"
#include "tests/bench/micro/sample.h"

namespace onced::micro {
namespace {

void DecideOn(benchmark::State& state, const std::optional<Record>& found, const Operation& asked) {
  const View view{.now = Now(), .epoch = {1}};
  const Policy policy;
  const Mint mint{.token = {.epoch = {1}}, .fence = {absl::ToUnixMicros(Now()) + 1}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(Decide(found, asked, view, policy, mint));
  }
}

void Decide_Fresh(benchmark::State& state) { DecideOn(state, std::nullopt, SampleReserve()); }
void Decide_Conflict(benchmark::State& state) { DecideOn(state, SamplePending(), SampleReserve()); }
void Decide_Replay(benchmark::State& state) { DecideOn(state, SampleCommitted(), SampleReserve()); }
void Decide_Mismatch(benchmark::State& state) {
  ReserveOp reserve = SampleReserve();
  reserve.fingerprint = "another";
  DecideOn(state, SampleCommitted(), reserve);
}
void Decide_Commit(benchmark::State& state) {
  DecideOn(state, SamplePending(), SampleCommit(SamplePending().token));
}
void Decide_Release(benchmark::State& state) {
  DecideOn(state, SamplePending(), ReleaseOp{SamplePending().token});
}

BENCHMARK(Decide_Fresh);
BENCHMARK(Decide_Conflict);
BENCHMARK(Decide_Replay);
BENCHMARK(Decide_Mismatch);
BENCHMARK(Decide_Commit);
BENCHMARK(Decide_Release);

}  // namespace
}  // namespace onced::micro
