// The sizes that the benchmark speaks of: keys, fingerprints and request_ids of 32
// bytes, bodies of 1 KiB.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "server/ledger/decide.h"
#include "server/ledger/policy.h"

namespace onced::micro {

inline constexpr std::size_t kBodyBytes = 1'024;

inline absl::Time Now() { return absl::FromUnixSeconds(1'700'000'000); }
inline const std::string& Fingerprint() {
  static const std::string fingerprint(32, 'f');
  return fingerprint;
}

// Another one for each number.
inline std::string KeyOf(std::uint64_t number) {
  std::string key(32, '\0');
  std::snprintf(key.data(), key.size() + 1, "%032llx", static_cast<unsigned long long>(number));
  return key;
}

ReserveOp SampleReserve();
CommitOp SampleCommit(const Token& token);
Result SampleResult();
// By another request than SampleReserve()'s, with a lease that runs.
Record SamplePending();
Record SampleCommitted();

}  // namespace onced::micro
