#include "tests/bench/micro/sample.h"

#include "server/base/bytes.h"

namespace onced::micro {

ReserveOp SampleReserve() {
  return {.fingerprint = Fingerprint(),
          .request_id = std::string(32, 'r'),
          .lease_ttl = absl::Minutes(2)};
}

CommitOp SampleCommit(const Token& token) {
  return {.token = token, .result = StoredResult(SampleResult())};
}

Result SampleResult() {
  const std::string body(kBodyBytes, 'b');
  return {.status_code = 200,
          .body = body,
          .body_size = static_cast<std::int64_t>(body.size()),
          .body_sha256 = Sha256(body)};
}

Record SamplePending() {
  const Policy policy;
  return {.token = {.epoch = {1}, .bits = {1, 2, 3}},
          .fence = {absl::ToUnixMicros(Now())},
          .fingerprint = Fingerprint(),
          .reserve_time = Now(),
          .phase = Pending{.request_id = std::string(32, 'h'),
                           .lease_expire_time = Now() + policy.lease.preset,
                           .lapsed_retention = policy.lapsed_retention,
                           .retention = policy.retention}};
}

Record SampleCommitted() {
  Record record = SamplePending();
  record.phase = Committed{.commit_time = Now(),
                           .expire_time = Now() + absl::Hours(24),
                           .result = StoredResult(SampleResult())};
  return record;
}

}  // namespace onced::micro
