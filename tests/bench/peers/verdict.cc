#include "tests/bench/peers/verdict.h"

#include <utility>

namespace onced::bench {
namespace {

constexpr std::pair<std::string_view, Verdict> kWords[] = {
    {"FRESH", Verdict::kFresh},
    {"REPLAYED", Verdict::kReplayed},
    {"CONFLICT", Verdict::kConflict},
    {"MISMATCH", Verdict::kMismatch},
    {"COMMITTED", Verdict::kCommitted},
    {"ALREADY_COMMITTED", Verdict::kAlreadyCommitted},
    {"COMMITTED_DIFFERENTLY", Verdict::kCommittedDifferently},
    {"SUPERSEDED", Verdict::kSuperseded},
    {"NOT_RESERVED", Verdict::kNotReserved},
};

}  // namespace

Verdict VerdictOf(std::string_view word) {
  for (const auto& [name, verdict] : kWords) {
    if (name == word) return verdict;
  }
  return Verdict::kError;
}

bool Wanted::IsMetBy(Verdict verdict, std::string_view replayed) const {
  const bool right_body =
      verdict != Verdict::kReplayed || body == nullptr || std::string_view(*body) == replayed;
  switch (expect) {
    case Expect::kFresh:
      return verdict == Verdict::kFresh;
    case Expect::kReplayed:
      return verdict == Verdict::kReplayed && right_body;
    case Expect::kConflictOrReplayed:
      return verdict == Verdict::kConflict || (verdict == Verdict::kReplayed && right_body);
    case Expect::kCommitted:
      return verdict == Verdict::kCommitted;
    case Expect::kAny:
      return verdict != Verdict::kError;
  }
  __builtin_unreachable();
}

}  // namespace onced::bench
