// Section 4 of docs/protocol.md: a lease that ran out while the server was down lapses no earlier
// than restart_grace after it serves again.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "server/ledger/decide.h"
#include "tests/unit/ledger/ledger_builders.h"

namespace onced::ledger_test {
namespace {

const absl::Duration kGrace = absl::Seconds(15);
const absl::Time kDown = kNow;
const absl::Time kUp = kNow + absl::Minutes(10);
const Outages kOutage = EndOutage({}, kDown, kUp, kGrace);

Pending LeaseUntil(absl::Time end) { return PendingOf(PendingRecord(end - kNow)); }

struct Row {
  const char* name;
  absl::Time lease_end;
  absl::Time want;
};

const Row kRows[] = {
    {"long_before", kDown - absl::Minutes(1), kDown - absl::Minutes(1)},
    {"just_before", kDown - kTick, kDown - kTick},
    {"seen_to_lapse", kDown, kDown},
    {"just_after_it_went_down", kDown + kTick, kUp + kGrace},
    {"meanwhile", kDown + absl::Minutes(5), kUp + kGrace},
    {"as_it_came_back", kUp, kUp + kGrace},
    {"just_after_it_came_back", kUp + kTick, kUp + kTick},
    {"within_the_grace", kUp + absl::Seconds(5), kUp + absl::Seconds(5)},
    {"long_after", kUp + absl::Hours(1), kUp + absl::Hours(1)},
};

TEST(Outage, GivesGraceToLeasesThatRanOutMeanwhile) {
  for (const Row& row : kRows) {
    EXPECT_EQ(LeaseEnd(LeaseUntil(row.lease_end), kOutage), row.want) << row.name;
  }
}

TEST(Outage, NoneChangesNothing) {
  for (const Row& row : kRows) {
    EXPECT_EQ(LeaseEnd(LeaseUntil(row.lease_end), Outages{}), row.lease_end) << row.name;
  }
}

TEST(Outage, WithoutGraceChangesNothing) {
  const Outages outage = EndOutage({}, kDown, kUp, absl::ZeroDuration());
  for (const Row& row : kRows) {
    const absl::Time end = LeaseEnd(LeaseUntil(row.lease_end), outage);
    EXPECT_EQ(end, row.lease_end > kDown ? std::max(row.lease_end, std::min(kUp, row.want))
                                         : row.lease_end)
        << row.name;
  }
}

// ---- Decisions within the grace ----

const Record kRanOutMeanwhile = PendingRecord(absl::Minutes(5));  // Between kDown and kUp.
const ReserveOp kBobs{.fingerprint = "fp", .owner = "bob", .lease_ttl = absl::Minutes(1)};

Decision DecideAt(absl::Time now, const Operation& op, const Record& found = kRanOutMeanwhile) {
  return Decide(found, op, {.now = now, .epoch = kEpoch, .outages = kOutage}, PolicyOfTheGrant(),
                kMint);
}

TEST(Outage, IsNoMassTakeover) {
  const Decision at_start = DecideAt(kUp, kBobs);
  const auto& conflict = std::get<Conflict>(at_start.reply);
  EXPECT_EQ(conflict.holder.state, State::kPending);
  EXPECT_EQ(conflict.holder.lease_expire_time, kUp + kGrace);
  EXPECT_TRUE(std::holds_alternative<Conflict>(DecideAt(kUp + kGrace - kTick, kBobs).reply));
  const Decision after = DecideAt(kUp + kGrace, kBobs);
  EXPECT_EQ(std::get<Fresh>(after.reply).attempt, 4U);
  EXPECT_EQ(std::get<Fresh>(after.reply).previous->lapse_time, kUp + kGrace);
}

TEST(Outage, ACommitWithinTheGraceIsNotLate) {
  const CommitOp commit{kHolders, StoredResult(MakeResult("done")), std::nullopt};
  const auto late = [&](absl::Time now) {
    return std::get<CommitDone>(DecideAt(now, commit).reply).late;
  };
  EXPECT_FALSE(late(kUp + kGrace - kTick));
  EXPECT_TRUE(late(kUp + kGrace));
}

TEST(Outage, TheRetentionOfALapsedOneCountsFromTheGrace) {
  const absl::Time gone = kUp + kGrace + PolicyOfTheGrant().lapsed_retention;
  EXPECT_EQ(std::get<Inspected>(DecideAt(kUp, InspectOp{}).reply).expire_time, gone);
  EXPECT_EQ(std::get<Inspected>(DecideAt(gone - kTick, InspectOp{}).reply).state, State::kLapsed);
  EXPECT_EQ(std::get<Inspected>(DecideAt(gone, InspectOp{}).reply).state, State::kAbsent);
}

TEST(Outage, AnExtensionWithinTheGraceNeverShortensIt) {
  const ExtendOp brief{.token = kHolders, .lease_ttl = absl::Milliseconds(100)};
  const Decision d = DecideAt(kUp + kTick, brief);
  EXPECT_EQ(std::get<ExtendDone>(d.reply).lease_expire_time, kUp + kGrace);
  EXPECT_EQ(LeaseEnd(PendingOf(std::get<Write>(d.change).record), kOutage), kUp + kGrace);
}

TEST(Outage, ALostReplyIsRepeatedWithTheGrace) {
  ReserveOp again = kBobs;
  again.request_id = "rid";
  const Fresh fresh = std::get<Fresh>(DecideAt(kUp, again).reply);
  EXPECT_TRUE(fresh.token == kHolders);
  EXPECT_EQ(fresh.lease_expire_time, kUp + kGrace);
}

TEST(Outage, TheRetryDelayCountsWithTheGrace) {
  const auto delay = [&](absl::Time now) {
    return std::get<Conflict>(DecideAt(now, kBobs).reply).retry_delay;
  };
  EXPECT_EQ(delay(kUp), absl::Milliseconds(500));
  EXPECT_EQ(delay(kUp + kGrace - absl::Milliseconds(100)), absl::Milliseconds(50));
}

TEST(Outage, AGrantOfAfterwardsLapsesNormally) {
  ReserveOp brief = kBobs;
  brief.lease_ttl = absl::Milliseconds(100);
  const Decision grant =
      Decide(std::nullopt, brief, {kUp + kTick, kEpoch, kOutage}, PolicyOfTheGrant(), kMint);
  const Record record = std::get<Write>(grant.change).record;
  const absl::Time end = kUp + kTick + absl::Milliseconds(100);
  EXPECT_EQ(StateOf(record, {end - kTick, kEpoch, kOutage}), State::kPending);
  EXPECT_EQ(StateOf(record, {end, kEpoch, kOutage}), State::kLapsed);  // Still within the grace.
}

TEST(Outage, GivesNoGraceToACommit) {
  const Record record = CommittedRecord(absl::Minutes(5));
  EXPECT_EQ(StateOf(record, {kUp, kEpoch, kOutage}), State::kAbsent);
}

// ---- One outage after another ----

TEST(EndOutage, TheFirstOneIsAsItWas) {
  const Outages outage = EndOutage({}, kDown, kUp, kGrace);
  EXPECT_TRUE(outage == (Outages{{kDown, kUp, kUp + kGrace}}));
}

// Up for 5 s, then down for another 10 minutes: the grace had not run out.
TEST(EndOutage, ACrashWithinTheGraceGivesItAnew) {
  const absl::Time crash = kUp + absl::Seconds(5);
  const absl::Time up_again = crash + absl::Minutes(10);
  const Outages second = EndOutage(kOutage, crash, up_again, kGrace);
  // Of the first outage, still pending at the crash, and of the second.
  EXPECT_EQ(LeaseEnd(LeaseUntil(kDown + kTick), second), up_again + kGrace);
  EXPECT_EQ(LeaseEnd(LeaseUntil(crash + kTick), second), up_again + kGrace);
  // Those that had lapsed before the first stay lapsed.
  EXPECT_EQ(LeaseEnd(LeaseUntil(kDown), second), kDown);
}

TEST(EndOutage, ACrashLoopNeverTakesALeaseAway) {
  Outages outage = kOutage;
  absl::Time up = kUp;
  for (int i = 0; i < 100; ++i) {  // Up for a second each, with a minute between.
    const absl::Time crash = up + absl::Seconds(1);
    EXPECT_EQ(StateOf(kRanOutMeanwhile, {crash, kEpoch, outage}), State::kPending) << i;
    up = crash + absl::Minutes(1);
    outage = EndOutage(outage, crash, up, kGrace);
    EXPECT_EQ(LeaseEnd(PendingOf(kRanOutMeanwhile), outage), up + kGrace) << i;
  }
}

TEST(EndOutage, ACrashAfterTheGraceLeavesTheLapsedLapsed) {
  for (const absl::Duration after : {kGrace, kGrace + kTick, absl::Duration(absl::Minutes(30))}) {
    const absl::Time crash = kUp + after;
    ASSERT_EQ(StateOf(kRanOutMeanwhile, {crash, kEpoch, kOutage}), State::kLapsed);
    const Outages second = EndOutage(kOutage, crash, crash + absl::Minutes(1), kGrace);
    EXPECT_EQ(StateOf(kRanOutMeanwhile, {crash + absl::Minutes(1), kEpoch, second}), State::kLapsed)
        << after;
  }
}

// It lapsed at the end of the first outage's grace, however long that outage was,
// and stays known for its lapsed_retention from then on.
TEST(EndOutage, AnotherOutageDoesNotForgetTheGraceOfTheFirst) {
  const absl::Time lapsed = kUp + kGrace;
  const absl::Time crash = lapsed + absl::Minutes(1);
  Record record = kRanOutMeanwhile;
  std::get<Pending>(record.phase).lapsed_retention = absl::Minutes(2);
  ASSERT_EQ(StateOf(record, {crash, kEpoch, kOutage}), State::kLapsed);
  const Outages second = EndOutage(kOutage, crash, crash + kTick, kGrace);
  EXPECT_EQ(LeaseEnd(PendingOf(record), second), lapsed);
  EXPECT_EQ(StateOf(record, {lapsed + absl::Minutes(2) - kTick, kEpoch, second}), State::kLapsed);
  EXPECT_EQ(StateOf(record, {lapsed + absl::Minutes(2), kEpoch, second}), State::kAbsent);
}

// What lapsed while the server served, between two crashes, had its chance.
TEST(EndOutage, NoGraceForWhatLapsedBetweenTwo) {
  const absl::Time crash = kUp + absl::Seconds(5);
  const Outages second = EndOutage(kOutage, crash, crash + absl::Minutes(1), kGrace);
  for (const absl::Time end : {kUp + kTick, crash}) {
    EXPECT_EQ(LeaseEnd(LeaseUntil(end), second), end);
  }
}

// Up for less than what the mark may be ahead: nothing can have lapsed meanwhile.
TEST(EndOutage, AFastCrashLoopIsOneOutage) {
  Outages outages = kOutage;
  absl::Time up = kUp;
  for (int i = 0; i < 1'000; ++i) {
    outages = EndOutage(outages, up - absl::Seconds(1), up + absl::Milliseconds(20), kGrace);
    up += absl::Milliseconds(20);
  }
  EXPECT_TRUE(outages == (Outages{{kDown, up, up + kGrace}}));
}

// So many that all count still, an hour of service between two.
Outages TooMany() {
  Outages outages;
  absl::Time up = kUp;
  for (std::size_t i = 0; i < kOutagesMax; ++i) {
    const absl::Time crash = up + absl::Hours(1);
    up = crash + absl::Minutes(i == 7 ? 5 : 10);
    outages = EndOutage(outages, crash, up, kGrace);
  }
  return outages;
}

TEST(EndOutage, ForgetsTheShortestOfTooMany) {
  const Outages before = TooMany();
  ASSERT_EQ(before.size(), kOutagesMax);
  const absl::Time crash = before.back().serving_since + absl::Hours(1);
  const Outages after = EndOutage(before, crash, crash + absl::Minutes(1), kGrace);
  ASSERT_EQ(after.size(), kOutagesMax);
  EXPECT_EQ(after[6], before[6]);
  EXPECT_EQ(after[7], before[8]);
  EXPECT_EQ(after.back().down_since, crash);
}

// What had lapsed stays so, and what was absent: no end moves to later.
TEST(EndOutage, BringsNothingBackOfWhatHadLapsed) {
  Outages outages = TooMany();
  for (int i = 0; i < 20; ++i) {
    const absl::Time crash = outages.back().serving_since + absl::Minutes(30 + i);
    const Outages next = EndOutage(outages, crash, crash + absl::Minutes(1), kGrace);
    for (absl::Time end = kUp; end < crash; end += absl::Minutes(7)) {
      const absl::Time was = LeaseEnd(LeaseUntil(end), outages);
      if (was > crash) continue;
      ASSERT_LE(LeaseEnd(LeaseUntil(end), next), was) << i;
    }
    outages = next;
  }
}

TEST(EndOutage, ForgetsWhatNoRecordCanRemember) {
  const absl::Time last = kOutage.back().grace_until + limits::kRetentionMax;
  EXPECT_EQ(EndOutage(kOutage, last - kTick, last - kTick, kGrace).size(), 2);
  EXPECT_EQ(EndOutage(kOutage, last - kTick, last, kGrace).size(), 1);
}

// An extension to the very end of the grace is a lease like any other.
TEST(EndOutage, AnExtensionToTheEndOfTheGraceHasItsGraceInTheNext) {
  const ExtendOp brief{.token = kHolders, .lease_ttl = absl::Milliseconds(100)};
  const Decision d = DecideAt(kUp, brief);
  const Record extended = std::get<Write>(d.change).record;
  const absl::Time up_again = kUp + absl::Minutes(1);
  const Outages second = EndOutage(kOutage, kUp + absl::Seconds(1), up_again, kGrace);
  EXPECT_EQ(LeaseEnd(PendingOf(extended), second), up_again + kGrace);
}

}  // namespace
}  // namespace onced::ledger_test
