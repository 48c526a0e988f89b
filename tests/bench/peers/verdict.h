// What a server of others says to a step, and whether that was wanted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/bench/driver.h"

namespace onced::bench {

// The rows of section 3 of docs/protocol.md. The scripts of the peers answer by these
// names, without the k and in capitals.
enum class Verdict : std::uint8_t {
  kFresh,
  kReplayed,
  kConflict,
  kMismatch,
  kCommitted,
  kAlreadyCommitted,
  kCommittedDifferently,
  kSuperseded,
  kNotReserved,
  kError,  // No verdict at all.
};

// kError for any other word.
Verdict VerdictOf(std::string_view word);

// What is left of a step once its message is on the way.
struct Wanted {
  Op op = Op::kReserve;
  Expect expect = Expect::kAny;
  const std::string* body = nullptr;

  explicit Wanted(const Step& step) : op(step.op), expect(step.expect), body(step.body) {}
  // `replayed` is the body that came with kReplayed.
  bool IsMetBy(Verdict verdict, std::string_view replayed) const;
};

// What every peer grants by. As a namespace of onced has it that no configuration
// speaks of.
struct Terms {
  std::int64_t lease_ms = 120'000;
  std::int64_t lapsed_retention_ms = 86'400'000;
  std::int64_t retention_ms = 86'400'000;
};

// The namespace of all keys, and the status code of all results.
inline constexpr char kNamespace[] = "bench";
inline constexpr int kStatusCode = 200;

}  // namespace onced::bench
