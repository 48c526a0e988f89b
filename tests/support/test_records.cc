#include "tests/support/test_records.h"

#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "server/base/bytes.h"

namespace onced {
namespace {

Token TestToken(std::uint8_t first) {
  Token token{.epoch = {0x01020304}};
  for (std::size_t i = 0; i < token.bits.size(); ++i) {
    token.bits[i] = static_cast<std::uint8_t>(first + i);
  }
  return token;
}

Result ResultOf(std::string body) {
  Result result;
  result.status_code = 200;
  result.body_size = static_cast<std::int64_t>(body.size());
  result.body_sha256 = Sha256(body);
  result.body = std::move(body);
  return result;
}

class AnyValue {
 public:
  explicit AnyValue(std::mt19937_64& random) : random_(random) {}

  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  bool Bool() { return Below(2) == 1; }
  std::string Bytes(std::size_t size_max) {
    std::string bytes(Below(size_max + 1), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  // Mostly of this age, now and then at an edge of what can be stored.
  std::int64_t Micros() {
    constexpr std::int64_t kEdges[] = {std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max(), -1, 0, 1};
    if (Below(8) == 0) return kEdges[Below(std::size(kEdges))];
    return static_cast<std::int64_t>(Below(4'000'000'000'000'000));
  }
  absl::Time Time() {
    const std::int64_t micros = Micros();
    if (micros == std::numeric_limits<std::int64_t>::max()) return absl::InfiniteFuture();
    if (micros == std::numeric_limits<std::int64_t>::min()) return absl::InfinitePast();
    return absl::FromUnixMicros(micros);
  }
  absl::Duration Duration() {
    const std::int64_t micros = Micros();
    if (micros == std::numeric_limits<std::int64_t>::max()) return absl::InfiniteDuration();
    if (micros == std::numeric_limits<std::int64_t>::min()) return -absl::InfiniteDuration();
    return absl::Microseconds(micros);
  }

  Pending APending() {
    Pending pending;
    pending.request_id = Bytes(64);
    pending.lease_expire_time = Time();
    pending.on_lapse = Bool() ? OnLapse::kHold : OnLapse::kRegrant;
    pending.lapsed_retention = Duration();
    pending.retention = {Duration(), Duration(), Duration()};
    if (Bool()) pending.previous = Previous{{Micros()}, Bytes(128), Time()};
    pending.checkpoint = Bytes(1000);
    return pending;
  }
  Committed ACommitted() {
    Result result;
    result.status_code = static_cast<std::int32_t>(random_());
    const std::uint64_t headers = Below(4);
    for (std::uint64_t i = 0; i < headers; ++i) result.headers.push_back({Bytes(20), Bytes(100)});
    result.headers_omitted = Bool();
    result.body = Bytes(5000);
    result.body_size = Micros();
    result.body_sha256 = Bytes(32);
    result.body_omitted = Bool();
    return {.commit_time = Time(),
            .expire_time = Time(),
            .late = Bool(),
            .result = StoredResult(std::move(result))};
  }

 private:
  std::mt19937_64& random_;
};

}  // namespace

Record MinimalPending(Fence fence) {
  return {
      .token = TestToken(0x10),
      .fence = fence,
      .reserve_time = TestStart(),
      .phase = Pending{.lease_expire_time = TestStart() + absl::Minutes(2),
                       .lapsed_retention = absl::Hours(24),
                       .retention = {absl::Seconds(1), absl::Hours(24 * 400), absl::Hours(24)}}};
}

Record FullPending() {
  return {.token = TestToken(0x20),
          .fence = {1'700'000'000'000'001},
          .attempt = 3,
          .owner = "worker-3",
          .fingerprint = "fingerprint",
          .reserve_time = TestStart() + absl::Microseconds(1),
          .phase = Pending{.request_id = "request-id",
                           .lease_expire_time = TestStart() + absl::Seconds(30),
                           .on_lapse = OnLapse::kHold,
                           .lapsed_retention = absl::Hours(48),
                           .retention = {absl::Seconds(2), absl::Hours(72), absl::Hours(1)},
                           .previous = Previous{.fence = {1'699'999'999'000'000},
                                                .owner = "worker-2",
                                                .lapse_time = TestStart() - absl::Seconds(5)},
                           .checkpoint = std::string("check\0point", 11)}};
}

Record MinimalCommitted(std::string body, Fence fence) {
  return {.token = TestToken(0x30),
          .fence = fence,
          .reserve_time = TestStart(),
          .phase = Committed{.commit_time = TestStart() + absl::Seconds(1),
                             .expire_time = TestStart() + absl::Hours(24),
                             .result = StoredResult(ResultOf(std::move(body)))}};
}

Record FullCommitted() {
  Result result = ResultOf(std::string("\x00\xff", 2) + "body");
  result.status_code = -5;
  result.headers = {{"set-cookie", "a=1"}, {"set-cookie", "b=\xfe"}, {"empty", ""}};
  result.headers_omitted = true;
  result.body_omitted = true;
  return {.token = TestToken(0x40),
          .fence = {1'700'000'000'000'002},
          .attempt = 4,
          .owner = "worker-4",
          .fingerprint = "fingerprint",
          .reserve_time = TestStart(),
          .phase = Committed{.commit_time = TestStart() + absl::Minutes(1),
                             .expire_time = TestStart() + absl::Hours(24 * 400),
                             .late = true,
                             .result = StoredResult(std::move(result))}};
}

Record AnyRecord(std::mt19937_64& random) {
  AnyValue any(random);
  Record record;
  record.token.epoch.value = static_cast<std::uint32_t>(random());
  for (std::uint8_t& byte : record.token.bits) byte = static_cast<std::uint8_t>(random());
  record.fence.value = any.Micros();
  record.attempt = static_cast<std::uint32_t>(random());
  record.owner = any.Bytes(128);
  record.fingerprint = any.Bytes(128);
  record.reserve_time = any.Time();
  if (any.Bool()) {
    record.phase = any.APending();
  } else {
    record.phase = any.ACommitted();
  }
  if (any.Bool()) {
    for (std::uint8_t& byte : record.trace.trace_id) byte = static_cast<std::uint8_t>(random());
    record.trace.span_id[7] = 1;
  }
  return record;
}

}  // namespace onced
