// Between the wire's bytes and what the shards execute and answer.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <variant>

#include "idempotency/v1/idempotency.pb.h"
#include "server/rpc/translate.h"
#include "server/rpc/validate.h"
#include "server/rpc/wire.h"
#include "tests/bench/micro/sample.h"

namespace onced::micro {
namespace {

namespace v1 = idempotency::v1;

v1::ReserveRequest SampleRequest() {
  v1::ReserveRequest request;
  request.set_namespace_("bench");
  request.set_key(KeyOf(1));
  request.set_fingerprint(Fingerprint());
  request.set_request_id(std::string(32, 'r'));
  return request;
}

v1::BatchRequest SampleBatch(int count) {
  v1::BatchRequest batch;
  for (int i = 0; i < count; ++i) *batch.add_operations()->mutable_reserve() = SampleRequest();
  return batch;
}

Answer FreshAnswer() {
  return {.reply = Fresh{.token = SamplePending().token,
                         .fence = {absl::ToUnixMicros(Now())},
                         .lease_expire_time = Now() + absl::Minutes(2)},
          .server_time = Now()};
}

Answer ReplayAnswer() {
  return {.reply = Replayed{.result = StoredResult(SampleResult()),
                            .commit_time = Now(),
                            .expire_time = Now() + absl::Hours(24),
                            .fence = {absl::ToUnixMicros(Now())}},
          .server_time = Now()};
}

void Validate_Reserve(benchmark::State& state) {
  const PolicyTable policies({}, Policy{});
  const Caller caller = Caller::Anyone();
  const Validator validator(policies, caller);
  const v1::ReserveRequest request = SampleRequest();
  for (auto _ : state) {
    Checked checked = validator.Check(request);
    if (!std::holds_alternative<Request>(checked)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(checked);
  }
}

void Translate(benchmark::State& state, const Answer& answer) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(ReserveResponseOf(answer));
  }
}
void Translate_Fresh(benchmark::State& state) { Translate(state, FreshAnswer()); }
void Translate_Replay(benchmark::State& state) { Translate(state, ReplayAnswer()); }

template <typename Message>
void ParseIt(benchmark::State& state, const Message& message) {
  const grpc::ByteBuffer bytes = Serialize(message);
  for (auto _ : state) {
    Message parsed;
    if (Parse(bytes, parsed).has_value()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(parsed);
  }
}
void Parse_Reserve(benchmark::State& state) { ParseIt(state, SampleRequest()); }
void Parse_Batch(benchmark::State& state) {
  ParseIt(state, SampleBatch(static_cast<int>(state.range(0))));
}

void SerializeIt(benchmark::State& state, const google::protobuf::Message& message) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Serialize(message));
  }
}
void Serialize_Fresh(benchmark::State& state) {
  SerializeIt(state, ReserveResponseOf(FreshAnswer()));
}
void Serialize_Replay(benchmark::State& state) {
  SerializeIt(state, ReserveResponseOf(ReplayAnswer()));
}

BENCHMARK(Parse_Reserve);
BENCHMARK(Parse_Batch)->Arg(64);
BENCHMARK(Validate_Reserve);
BENCHMARK(Translate_Fresh);
BENCHMARK(Translate_Replay);
BENCHMARK(Serialize_Fresh);
BENCHMARK(Serialize_Replay);

}  // namespace
}  // namespace onced::micro
