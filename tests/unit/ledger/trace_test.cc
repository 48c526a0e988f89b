// Which call's trace a record names, and who is told: rows of found, asked, kept and told.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <variant>

#include "server/ledger/decide.h"
#include "tests/unit/ledger/ledger_builders.h"

namespace onced::ledger_test {
namespace {

constexpr TraceRef kNone{};
constexpr TraceRef kOfGrant{{1, 2, 3}, {4}};
constexpr TraceRef kOfCall{{5, 6, 7}, {8}};

Record Traced(Record record, const TraceRef& trace = kOfGrant) {
  record.trace = trace;
  return record;
}
Operation Reserve(std::string fingerprint, TraceRef trace = kOfCall, std::string request_id = "x") {
  return ReserveOp{.fingerprint = std::move(fingerprint),
                   .request_id = std::move(request_id),
                   .lease_ttl = absl::Seconds(20),
                   .trace = trace};
}
Operation Commit(TraceRef trace) {
  return CommitOp{.token = kHolders, .result = StoredResult(MakeResult("done")), .trace = trace};
}

struct Row {
  const char* name;
  std::optional<Record> found;
  Operation asked;
  TraceRef kept;  // In the record afterwards.
  TraceRef told;  // To whoever asked.
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

const absl::Duration kLive = absl::Seconds(5);
const absl::Duration kOver = -absl::Seconds(5);
const Record kPending = PendingRecord(kLive);

const Row kRows[] = {
    {"grant", std::nullopt, Reserve("fp"), kOfCall, kNone},
    {"grant_untraced", std::nullopt, Reserve("fp", kNone), kNone, kNone},
    {"grant_again", Traced(kPending), Reserve("fp", kOfCall, "rid"), kOfGrant, kNone},
    {"conflict", Traced(kPending), Reserve("fp"), kOfGrant, kOfGrant},
    {"conflict_untraced_holder", kPending, Reserve("fp"), kNone, kNone},
    {"mismatch", Traced(kPending), Reserve("other"), kOfGrant, kOfGrant},
    {"unresolved", Traced(HeldRecord(kOver)), Reserve("fp"), kOfGrant, kOfGrant},
    {"takeover", Traced(PendingRecord(kOver)), Reserve("fp"), kOfCall, kNone},
    {"takeover_untraced", Traced(PendingRecord(kOver)), Reserve("fp", kNone), kNone, kNone},
    {"commit", Traced(kPending), Commit(kOfCall), kOfCall, kNone},
    {"commit_untraced", Traced(kPending), Commit(kNone), kOfGrant, kNone},
    {"commit_repeated", Traced(CommittedRecord(kLive)), Commit(kOfCall), kOfGrant, kNone},
    {"extend", Traced(kPending), ExtendOp{kHolders, absl::Seconds(60), std::nullopt}, kOfGrant,
     kNone},
    {"replay", Traced(CommittedRecord(kLive)), Reserve("fp"), kOfGrant, kOfGrant},
    {"replay_untraced_call", Traced(CommittedRecord(kLive)), Reserve("fp", kNone), kOfGrant,
     kOfGrant},
};

TraceRef Told(const Reply& reply) {
  if (const auto* replayed = std::get_if<Replayed>(&reply)) return replayed->trace;
  if (const auto* conflict = std::get_if<Conflict>(&reply)) return conflict->holder.trace;
  if (const auto* mismatch = std::get_if<Mismatch>(&reply)) return mismatch->holder.trace;
  if (const auto* unresolved = std::get_if<Unresolved>(&reply)) return unresolved->holder.trace;
  return {};
}

class TraceTest : public testing::TestWithParam<Row> {};

TEST_P(TraceTest, IsKeptAndTold) {
  const Row& row = GetParam();
  const Decision got = Decide(row.found, row.asked, kView, PolicyOfLater(), kMint);
  const auto* write = std::get_if<Write>(&got.change);
  EXPECT_EQ(write != nullptr ? write->record.trace : row.found->trace, row.kept);
  EXPECT_EQ(Told(got.reply), row.told);
}

INSTANTIATE_TEST_SUITE_P(Rows, TraceTest, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace onced::ledger_test
