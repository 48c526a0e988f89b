// Where one thing ends and the next begins, to the microsecond, and what a record keeps of the
// policy that it was granted under.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "server/ledger/decide.h"
#include "tests/unit/ledger/ledger_builders.h"

namespace onced::ledger_test {
namespace {

const absl::Duration kLapsedRetention = PolicyOfTheGrant().lapsed_retention;

State StateAt(const Record& record, absl::Time now) {
  return StateOf(record, {.now = now, .epoch = kEpoch});
}

Decision DecideAt(const std::optional<Record>& found, const Operation& op, absl::Time now,
                  const Policy& policy = PolicyOfTheGrant(), const Mint& mint = kMint) {
  return Decide(found, op, {.now = now, .epoch = kEpoch}, policy, mint);
}

Record Written(const Decision& decision) { return std::get<Write>(decision.change).record; }

ReserveOp Bobs(absl::Duration lease = absl::Minutes(1)) {
  return {.fingerprint = "fp", .request_id = "bob's", .owner = "bob", .lease_ttl = lease};
}

// ---- When a state begins ----

struct StateRow {
  const char* name;
  Record record;
  absl::Duration after;  // kNow, where its lease or its retention ends.
  State want;
};

const StateRow kStateRows[] = {
    {"lease_before", PendingRecord({}), -kTick, State::kPending},
    {"lease_at", PendingRecord({}), {}, State::kLapsed},
    {"lease_after", PendingRecord({}), kTick, State::kLapsed},
    {"lapsed_before", PendingRecord({}), kLapsedRetention - kTick, State::kLapsed},
    {"lapsed_at", PendingRecord({}), kLapsedRetention, State::kAbsent},
    {"lapsed_after", PendingRecord({}), kLapsedRetention + kTick, State::kAbsent},
    {"held_before", HeldRecord({}), -kTick, State::kPending},
    {"held_at", HeldRecord({}), {}, State::kLapsed},
    {"held_past_retention", HeldRecord({}), kLapsedRetention, State::kLapsed},
    {"held_for_centuries", HeldRecord({}), absl::Hours(24 * 365 * 200), State::kLapsed},
    {"committed_before", CommittedRecord({}), -kTick, State::kCommitted},
    {"committed_at", CommittedRecord({}), {}, State::kAbsent},
    {"committed_after", CommittedRecord({}), kTick, State::kAbsent},
};

TEST(Boundaries, AStateBeginsAtItsTime) {
  for (const StateRow& row : kStateRows) {
    EXPECT_EQ(StateAt(row.record, kNow + row.after), row.want) << row.name;
  }
  EXPECT_EQ(StateOf(std::nullopt, kView), State::kAbsent);
}

TEST(Boundaries, DecisionsTurnWithTheState) {
  const Record record = PendingRecord({});
  const auto outcome = [&](absl::Duration after) {
    return DecideAt(record, Bobs(), kNow + after).reply;
  };
  EXPECT_TRUE(std::holds_alternative<Conflict>(outcome(-kTick)));
  EXPECT_EQ(std::get<Fresh>(outcome({})).attempt, 4U);
  EXPECT_EQ(std::get<Fresh>(outcome(kLapsedRetention - kTick)).attempt, 4U);
  const Fresh anew = std::get<Fresh>(outcome(kLapsedRetention));
  EXPECT_EQ(anew.attempt, 1U);
  EXPECT_FALSE(anew.previous.has_value());
}

TEST(Boundaries, AReplayEndsWithItsRetentionHoweverOftenItWasAskedFor) {
  const Record record = CommittedRecord(absl::Seconds(3));
  for (int i = 0; i < 3; ++i) {
    const Decision d = DecideAt(record, Bobs(), kNow + absl::Seconds(i));
    EXPECT_TRUE(std::holds_alternative<Keep>(d.change));
    EXPECT_EQ(std::get<Replayed>(d.reply).expire_time, kNow + absl::Seconds(3));
  }
  const Decision d = DecideAt(record, Bobs(), kNow + absl::Seconds(3));
  EXPECT_EQ(std::get<Fresh>(d.reply).attempt, 1U);
}

TEST(Boundaries, ACommitIsLateFromTheEndOfTheLeaseOn) {
  const CommitOp commit{kHolders, StoredResult(MakeResult("done")), std::nullopt};
  const auto late = [&](absl::Duration after) {
    return std::get<CommitDone>(DecideAt(PendingRecord({}), commit, kNow + after).reply).late;
  };
  EXPECT_FALSE(late(-kTick));
  EXPECT_TRUE(late({}));
  EXPECT_TRUE(late(kTick));
}

// ---- Durations ----

TEST(Boundaries, ExtendNeverShortens) {
  const Record record = PendingRecord(absl::Seconds(10));
  for (const absl::Duration ttl : {absl::Milliseconds(100), absl::Seconds(10) - kTick,
                                   absl::Seconds(10), absl::Seconds(10) + kTick, absl::Hours(1)}) {
    const Decision d = DecideAt(record, ExtendOp{.token = kHolders, .lease_ttl = ttl}, kNow);
    const absl::Time want = kNow + std::max(ttl, absl::Seconds(10));
    EXPECT_EQ(std::get<ExtendDone>(d.reply).lease_expire_time, want) << ttl;
    EXPECT_EQ(PendingOf(Written(d)).lease_expire_time, want) << ttl;
  }
}

TEST(Boundaries, ADelayedDuplicateOfAnExtendChangesNothing) {
  const ExtendOp extend{.token = kHolders, .lease_ttl = absl::Minutes(1)};
  const Record once = Written(DecideAt(PendingRecord(absl::Seconds(1)), extend, kNow));
  const Record longer = Written(
      DecideAt(once, ExtendOp{.token = kHolders, .lease_ttl = absl::Hours(1)}, kNow + kTick));
  EXPECT_TRUE(Written(DecideAt(longer, extend, kNow + absl::Seconds(1))) == longer);
}

struct RetentionRow {
  const char* name;
  std::optional<absl::Duration> asked;
  absl::Duration want;
};

// The bounds are PolicyOfTheGrant()'s, though the policy is PolicyOfLater() by then.
const RetentionRow kRetentionRows[] = {
    {"preset", std::nullopt, absl::Seconds(100)},
    {"min", absl::Seconds(10), absl::Seconds(10)},
    {"below_min", absl::Seconds(10) - kTick, absl::Seconds(10)},
    {"zero", absl::ZeroDuration(), absl::Seconds(10)},
    {"negative", -absl::Seconds(50), absl::Seconds(10)},
    {"most_negative", -absl::InfiniteDuration(), absl::Seconds(10)},
    {"between", absl::Seconds(77), absl::Seconds(77)},
    {"max", absl::Seconds(1000), absl::Seconds(1000)},
    {"above_max", absl::Seconds(1000) + kTick, absl::Seconds(1000)},
    {"endless", absl::InfiniteDuration(), absl::Seconds(1000)},
};

TEST(Boundaries, ARetentionIsClampedToTheBoundsOfTheGrant) {
  for (const RetentionRow& row : kRetentionRows) {
    const CommitOp commit{kHolders, StoredResult(MakeResult("done")), row.asked};
    const Decision d = DecideAt(PendingRecord(absl::Seconds(1)), commit, kNow, PolicyOfLater());
    EXPECT_EQ(std::get<CommitDone>(d.reply).expire_time, kNow + row.want) << row.name;
    EXPECT_EQ(std::get<Committed>(Written(d).phase).expire_time, kNow + row.want) << row.name;
  }
}

TEST(Boundaries, TheRetentionCountsFromTheCommitAndNotFromTheLease) {
  const CommitOp commit{kHolders, StoredResult(MakeResult("done")), absl::Seconds(10)};
  const absl::Time late = kNow + absl::Minutes(30);
  const Decision d = DecideAt(PendingRecord({}), commit, late);
  EXPECT_EQ(std::get<CommitDone>(d.reply).commit_time, late);
  EXPECT_EQ(std::get<CommitDone>(d.reply).expire_time, late + absl::Seconds(10));
}

// ---- What a grant copies ----

TEST(Boundaries, AGrantCopiesThePolicyAndALaterOneNeverReachesBack) {
  const Record record = Written(DecideAt(std::nullopt, Bobs(), kNow, PolicyOfTheGrant()));
  EXPECT_EQ(PendingOf(record).on_lapse, OnLapse::kRegrant);
  EXPECT_EQ(PendingOf(record).lapsed_retention, absl::Hours(1));
  EXPECT_TRUE(PendingOf(record).retention == PolicyOfTheGrant().retention);
  // The later policy holds, and keeps a lapsed one for a second.
  const absl::Time lapsed = kNow + absl::Minutes(2);
  const Decision d = DecideAt(record, Bobs(), lapsed, PolicyOfLater());
  EXPECT_EQ(std::get<Fresh>(d.reply).attempt, 2U);
  // The takeover is a grant: it is under the policy of its own time.
  EXPECT_EQ(PendingOf(Written(d)).on_lapse, OnLapse::kHold);
  EXPECT_EQ(PendingOf(Written(d)).lapsed_retention, absl::Seconds(1));
  EXPECT_TRUE(PendingOf(Written(d)).retention == PolicyOfLater().retention);
}

TEST(Boundaries, AHeldOneStaysHeldUnderALaterPolicy) {
  const Decision d = DecideAt(HeldRecord({}), Bobs(), kNow, PolicyOfTheGrant());
  EXPECT_TRUE(std::holds_alternative<Unresolved>(d.reply));
}

TEST(Boundaries, AnExtensionKeepsWhatTheGrantCopied) {
  const ExtendOp extend{.token = kHolders, .lease_ttl = absl::Minutes(1)};
  const Record record = PendingRecord(absl::Seconds(1));
  Record want = record;
  PendingOf(want).lease_expire_time = kNow + absl::Minutes(1);
  EXPECT_TRUE(Written(DecideAt(record, extend, kNow, PolicyOfLater())) == want);
}

// ---- Takeovers ----

// The holder of `record` saves `checkpoint`, then its lease lapses and `owner` takes over.
Record SaveAndTakeOver(const Record& record, std::optional<std::string> checkpoint,
                       std::uint8_t taker) {
  const absl::Time end = PendingOf(record).lease_expire_time;
  const Record saved = Written(DecideAt(
      record, ExtendOp{record.token, absl::Milliseconds(100), std::move(checkpoint)}, end - kTick));
  const Mint mint{.token = MakeToken(taker), .fence = {taker}};
  return Written(
      DecideAt(saved, Bobs(), PendingOf(saved).lease_expire_time, PolicyOfTheGrant(), mint));
}

TEST(Boundaries, ACheckpointIsHandedOnOverSeveralTakeovers) {
  const Record first = PendingRecord(absl::Minutes(1));
  const Record second = SaveAndTakeOver(first, "a third", 40);
  EXPECT_EQ(second.attempt, 4U);
  EXPECT_EQ(PendingOf(second).checkpoint, "a third");
  const Record third = SaveAndTakeOver(second, std::nullopt, 41);  // Died before it saved any.
  EXPECT_EQ(third.attempt, 5U);
  EXPECT_EQ(PendingOf(third).checkpoint, "a third");
  EXPECT_EQ(PendingOf(third).previous->fence, Fence{40});  // The last one, not the first.
  EXPECT_EQ(PendingOf(third).previous->owner, "bob");
  const Record fourth = SaveAndTakeOver(third, "two thirds", 42);
  EXPECT_EQ(PendingOf(fourth).checkpoint, "two thirds");
  const Record fifth = SaveAndTakeOver(fourth, "", 43);  // Removed.
  EXPECT_EQ(PendingOf(fifth).checkpoint, "");
  EXPECT_TRUE(PendingOf(fifth).previous.has_value());
}

TEST(Boundaries, ALostReplyIsRepeatedWhole) {
  const Record lapsed =
      With(PendingRecord({}), [](Record& r) { PendingOf(r).checkpoint = "half"; });
  const Decision first = DecideAt(lapsed, Bobs(), kNow);
  const Fresh fresh = std::get<Fresh>(first.reply);
  ASSERT_TRUE(fresh.previous.has_value());
  EXPECT_EQ(fresh.previous->lapse_time, kNow);
  const Mint other{.token = MakeToken(77), .fence = {7777}, .jitter = 1};
  for (const absl::Duration later : {absl::ZeroDuration(), absl::Minutes(1) - kTick}) {
    const Decision again = DecideAt(Written(first), Bobs(), kNow + later, PolicyOfLater(), other);
    EXPECT_TRUE(again == Keeps(fresh)) << Show(again);
  }
}

TEST(Boundaries, ALostReplyIsRepeatedWithTheExtendedLease) {
  const Record record = Written(DecideAt(std::nullopt, Bobs(), kNow));
  const Record longer =
      Written(DecideAt(record, ExtendOp{kMint.token, absl::Hours(1), std::nullopt}, kNow));
  const Fresh again = std::get<Fresh>(DecideAt(longer, Bobs(absl::Seconds(1)), kNow).reply);
  EXPECT_EQ(again.lease_expire_time, kNow + absl::Hours(1));
}

// A checkpoint is for whoever takes over: the first holder knows its own.
TEST(Boundaries, TheFirstHolderIsHandedNoCheckpoint) {
  const Record record = Written(DecideAt(std::nullopt, Bobs(), kNow));
  const Record saved =
      Written(DecideAt(record, ExtendOp{kMint.token, absl::Minutes(1), "half"}, kNow));
  const Fresh again = std::get<Fresh>(DecideAt(saved, Bobs(), kNow).reply);
  EXPECT_FALSE(again.previous.has_value());
  EXPECT_EQ(again.checkpoint, "");
}

// ---- retry_delay ----

struct DelayRow {
  absl::Duration rest;
  double jitter;
  absl::Duration want;
};

const DelayRow kDelayRows[] = {
    {absl::Hours(1), 1.0, absl::Seconds(1)},
    {absl::Hours(1), 0.25, absl::Milliseconds(250)},
    {absl::Seconds(1) + kTick, 1.0, absl::Seconds(1)},
    {absl::Seconds(1), 1.0, absl::Seconds(1)},
    {absl::Seconds(1) - kTick, 1.0, absl::Seconds(1) - kTick},
    {absl::Milliseconds(100), 0.5, absl::Milliseconds(50)},
    {kTick, 1.0, kTick},
};

TEST(Boundaries, TheRetryDelayIsTheRestOfTheLeaseOrASecondJittered) {
  for (const DelayRow& row : kDelayRows) {
    const Mint mint{.token = kMint.token, .fence = kMint.fence, .jitter = row.jitter};
    const Decision d = DecideAt(PendingRecord(row.rest), Bobs(), kNow, PolicyOfTheGrant(), mint);
    EXPECT_EQ(std::get<Conflict>(d.reply).retry_delay, row.want) << row.rest << " " << row.jitter;
  }
}

}  // namespace
}  // namespace onced::ledger_test
