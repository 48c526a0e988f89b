// Which answers of a peer count as what was expected.
#include "tests/bench/peers/verdict.h"

#include <gtest/gtest.h>

namespace onced::bench {
namespace {

const std::string kBody = "body";

struct Row {
  const char* name;
  Expect expect;
  const char* word;
  const char* replayed;
  bool met;
};

constexpr Row kRows[] = {
    {"fresh", Expect::kFresh, "FRESH", "", true},
    {"fresh_but_replayed", Expect::kFresh, "REPLAYED", "body", false},
    {"fresh_but_conflict", Expect::kFresh, "CONFLICT", "", false},
    {"replayed", Expect::kReplayed, "REPLAYED", "body", true},
    {"replayed_another", Expect::kReplayed, "REPLAYED", "other", false},
    {"replayed_nothing", Expect::kReplayed, "REPLAYED", "", false},
    {"replayed_but_fresh", Expect::kReplayed, "FRESH", "", false},
    {"either_conflict", Expect::kConflictOrReplayed, "CONFLICT", "", true},
    {"either_replayed", Expect::kConflictOrReplayed, "REPLAYED", "body", true},
    {"either_but_fresh", Expect::kConflictOrReplayed, "FRESH", "", false},
    {"either_but_mismatch", Expect::kConflictOrReplayed, "MISMATCH", "", false},
    {"committed", Expect::kCommitted, "COMMITTED", "", true},
    {"committed_earlier", Expect::kCommitted, "ALREADY_COMMITTED", "", false},
    {"committed_differently", Expect::kCommitted, "COMMITTED_DIFFERENTLY", "", false},
    {"committed_by_another", Expect::kCommitted, "SUPERSEDED", "", false},
    {"committed_but_absent", Expect::kCommitted, "NOT_RESERVED", "", false},
    {"any_mismatch", Expect::kAny, "MISMATCH", "", true},
    {"any_superseded", Expect::kAny, "SUPERSEDED", "", true},
    {"any_but_an_error", Expect::kAny, "ERR unknown command", "", false},
    {"any_but_nothing", Expect::kAny, "", "", false},
};

TEST(Wanted, IsMetByTheRightAnswerAlone) {
  for (const Row& row : kRows) {
    const Wanted wanted(Step{.expect = row.expect, .body = &kBody});
    EXPECT_EQ(wanted.IsMetBy(VerdictOf(row.word), row.replayed), row.met) << row.name;
  }
}

TEST(Wanted, TakesAnyBodyWhereTheStepNamesNone) {
  const Wanted wanted(Step{.expect = Expect::kReplayed});
  EXPECT_TRUE(wanted.IsMetBy(Verdict::kReplayed, "whatever"));
}

}  // namespace
}  // namespace onced::bench
