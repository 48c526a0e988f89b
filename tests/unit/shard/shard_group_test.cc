// What a drain is, apart from waiting: order, deadlines, draining, fences,
// restarts, and a store that fails.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/storage/store_wrapper.h"
#include "tests/unit/shard/group_fixture.h"

namespace onced::shard_test {
namespace {

using OneDrain = GroupTest;

// ---- Order within a drain ----

TEST_F(OneDrain, ExecutesTheOperationsOnAKeyInTheirOrder) {
  const Token minted = Hold();  // A generator with the same seed mints the same again.
  MakeGroup();
  name_space_ = "twin";
  const Call first = Reserve({.request_id = "1"});
  const Call held = Reserve({.request_id = "2"});
  const Call commit = Commit(minted, "done");
  const Call replayed = Reserve({.request_id = "3"});
  const Call release = Release(minted);
  const Call look = Inspect();
  Execute();
  ASSERT_TRUE(Got<Fresh>(first));
  EXPECT_EQ(As<Fresh>(first).token, minted);
  EXPECT_TRUE(Got<Conflict>(held));
  ASSERT_TRUE(Got<CommitDone>(commit));
  ASSERT_TRUE(Got<Replayed>(replayed));
  EXPECT_EQ(*As<Replayed>(replayed).result, ResultWith("done"));
  EXPECT_TRUE(GotRefusal(release, Refusal::kAlreadyCommitted));
  ASSERT_TRUE(Got<Inspected>(look));
  EXPECT_EQ(As<Inspected>(look).state, State::kCommitted);
}

TEST_F(OneDrain, AReserveAndItsWaiterAndItsReleaseInOne) {
  const Token minted = Hold();
  MakeGroup();
  name_space_ = "twin";
  const Call holder = Reserve({.request_id = "1"});
  const Call waiter = Reserve({.request_id = "2", .wait = absl::Seconds(60)});
  const Call release = Release(minted);
  const Call late = Commit(minted);
  Execute();
  ASSERT_TRUE(Got<Fresh>(holder));
  ASSERT_TRUE(Got<Fresh>(waiter));
  EXPECT_NE(As<Fresh>(holder).token, As<Fresh>(waiter).token);
  EXPECT_GT(As<Fresh>(waiter).fence, As<Fresh>(holder).fence);
  EXPECT_TRUE(Got<ReleaseDone>(release));
  EXPECT_TRUE(GotRefusal(late, Refusal::kSuperseded));
}

TEST_F(OneDrain, IsJudgedByOneTime) {
  const Call calls[] = {Reserve({.request_id = "1"}), Inspect(), Inspect("other"),
                        Release({}, "other")};
  Execute();
  for (const Call& call : calls) EXPECT_EQ(call->answer->server_time, now_);
  EXPECT_EQ(As<Fresh>(calls[0]).lease_expire_time, now_ + absl::Seconds(10));
}

TEST_F(OneDrain, IsWrittenAsOneUnit) {
  for (int i = 0; i < 10; ++i) Reserve({.key = "key" + std::to_string(i)});
  Execute();
  EXPECT_EQ(store_->writes(), 1);
}

TEST_F(OneDrain, ReportsTakeoversAndNothingElse) {
  Hold();
  Advance(absl::Seconds(10));
  const Token token = Hold({.request_id = "second"});
  EXPECT_EQ(telemetry_.takeovers, 1u);
  Extend(token, absl::Seconds(30));
  Commit(token);
  Hold({.key = "fresh", .request_id = "r"});
  EXPECT_EQ(telemetry_.takeovers, 1u);
}

TEST_F(OneDrain, ReportsEveryLapseOnceByWhatCameOfIt) {
  const auto count = [&](LapseEnd end) {
    return telemetry_.lapses[static_cast<std::size_t>(end)].load();
  };
  std::map<std::string, Token> tokens;
  for (const char* key : {"takeover", "commit", "release", "extend", "live", "nobody_asks"}) {
    const bool lives = std::string(key) == "live";
    tokens[key] = Hold({.key = key, .request_id = key, .lease = absl::Seconds(lives ? 60 : 10)});
  }
  Advance(absl::Seconds(10));
  Inspect("takeover");
  Reserve({.key = "takeover", .fingerprint = "mismatch"});
  Execute();
  for (const LapseEnd end : kLapseEnds) EXPECT_EQ(count(end), 0u);
  Hold({.key = "takeover", .request_id = "second"});
  for (const char* key : {"commit", "live"}) Commit(tokens[key], "done", key);
  Release(tokens["release"], "release");
  Extend(tokens["extend"], absl::Seconds(20), "extend");
  Execute();
  for (const LapseEnd end : kLapseEnds) EXPECT_EQ(count(end), 1u);
  Extend(tokens["extend"], absl::Seconds(30), "extend");
  Commit(tokens["commit"], "done", "commit");
  Execute();
  for (const LapseEnd end : kLapseEnds) EXPECT_EQ(count(end), 1u);
}

TEST_F(OneDrain, ReportsEveryVerdictByNamespace) {
  policy_.listed_as = {7};
  const Token token = Hold({.request_id = "a"});
  Reserve({.request_id = "b"});
  Reserve({.fingerprint = "mismatch"});
  Execute();
  Park("c");
  Commit(token);
  Commit(token, "other");
  Inspect();
  Execute();
  policy_.listed_as = {};
  Reserve({.request_id = "d"});
  Reserve({.deadline = now_ - kTick});  // Not judged.
  Execute();
  policy_.on_lapse = OnLapse::kHold;
  Hold({.key = "held"});
  Advance(absl::Seconds(17));
  Reserve({.key = "held"});
  Execute();
  const MutexLock lock(telemetry_.mutex);
  const std::map<std::pair<std::uint32_t, CallStatus>, std::size_t> want = {
      {{7, CallStatus::kFresh}, 1},     {{7, CallStatus::kConflict}, 1},
      {{7, CallStatus::kMismatch}, 1},  {{7, CallStatus::kReplayed}, 1},
      {{0, CallStatus::kReplayed}, 1},  {{0, CallStatus::kFresh}, 1},
      {{0, CallStatus::kUnresolved}, 1}};
  EXPECT_EQ(telemetry_.judged, want);
  EXPECT_EQ(telemetry_.unresolved, std::vector{absl::Seconds(7)}) << "past the lease's 10";
}

TEST_F(OneDrain, RetryDelaysDiffer) {
  Hold();
  std::vector<Call> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(Reserve({.request_id = std::to_string(i)}));
  Execute();
  absl::Duration least = absl::InfiniteDuration(), most = absl::ZeroDuration();
  for (const Call& call : calls) {
    least = std::min(least, As<Conflict>(call).retry_delay);
    most = std::max(most, As<Conflict>(call).retry_delay);
  }
  EXPECT_LT(least, most);
  EXPECT_GE(least, absl::Milliseconds(500));
  EXPECT_LE(most, absl::Seconds(1));
}

// ---- Fences ----

TEST_F(OneDrain, FencesGrowOverTheGrantsOfADrain) {
  std::vector<Call> calls;
  for (int i = 0; i < 9; ++i) calls.push_back(Reserve({.key = "key" + std::to_string(i)}));
  Execute();
  for (int i = 0; i < 9; ++i) {
    EXPECT_GE(As<Fresh>(calls[i]).fence.value, absl::ToUnixMicros(now_));
    if (i == 0) continue;
    EXPECT_GT(As<Fresh>(calls[i]).fence, As<Fresh>(calls[i - 1]).fence);
  }
  const Call next = Reserve({.key = "key9"});  // At the same time: by the shard's last one.
  Execute();
  EXPECT_GT(As<Fresh>(next).fence, As<Fresh>(calls[8]).fence);
  Advance(absl::Seconds(1));
  const Call later = Reserve({.key = "keyA"});
  Execute();
  EXPECT_EQ(As<Fresh>(later).fence.value, absl::ToUnixMicros(now_));
}

TEST_F(OneDrain, FencesOfAKeyGrowAcrossReleaseAndRestart) {
  const Token token = Hold();
  const Fence first = Look().record->fence;
  Release(token);
  const Call second = Reserve({.request_id = "2"});
  Execute();
  EXPECT_GT(As<Fresh>(second).fence, first);
  Release(As<Fresh>(second).token);
  Execute();
  Restart(absl::ZeroDuration());
  const Call third = Reserve({.request_id = "3"});
  Execute();
  EXPECT_GT(As<Fresh>(third).fence, As<Fresh>(second).fence);
}

// ---- Deadlines ----

using Deadline = GroupTest;

TEST_F(Deadline, PassedMeansThatNothingIsDone) {
  const Token token = Hold();
  const Inspected before = Look();
  const Call calls[] = {
      Reserve({.key = "absent", .deadline = now_}),
      Reserve({.request_id = "w", .wait = absl::Seconds(60), .deadline = now_}),
      Submit("key", ReleaseOp{token}, now_),
      Submit("key", ExtendOp{.token = token, .lease_ttl = absl::Seconds(99)}, now_ - kTick),
      Submit("key", InspectOp{}, now_),
  };
  Execute();
  for (const Call& call : calls) EXPECT_TRUE(GotRefusal(call, Refusal::kDeadlinePassed));
  EXPECT_EQ(Look(), before);
  EXPECT_EQ(Look("absent").state, State::kAbsent);
}

TEST_F(Deadline, NotYetPassed) {
  const Call call = Reserve({.deadline = now_ + kTick});
  Execute();
  EXPECT_TRUE(Got<Fresh>(call));
}

// The effect has already happened: whatever became of the caller, its result is kept.
TEST_F(Deadline, ACommitIsExecutedAllTheSame) {
  const Token token = Hold();
  const Call commit = Submit(
      "key", CommitOp{.token = token, .result = StoredResult(ResultWith("x"))}, now_ - kTick);
  Execute();
  EXPECT_TRUE(Got<CommitDone>(commit));
  EXPECT_EQ(Look().state, State::kCommitted);
}

// ---- Draining ----

using Draining = GroupTest;

TEST_F(Draining, GrantsNothing) {
  Hold();
  const Call absent = Reserve({.key = "absent"});
  const Call regained = Reserve({.request_id = "holder"});
  const Call patient = Reserve({.request_id = "p", .wait = absl::Seconds(60)});
  Advance(absl::Seconds(10));
  const Call lapsed = Reserve({.request_id = "x"});
  ExecuteDraining();
  for (const Call& call : {absent, regained, patient, lapsed}) {
    EXPECT_TRUE(GotRefusal(call, Refusal::kDraining));
  }
  EXPECT_EQ(Look("absent").state, State::kAbsent);
  EXPECT_EQ(Look().state, State::kLapsed);
}

TEST_F(Draining, AnswersTheParked) {
  const Token token = Hold();
  const Call first = Park("1");
  const Call second = Park("2");
  Advance(absl::Seconds(1));
  Release(token);
  ExecuteDraining();
  EXPECT_TRUE(GotRefusal(first, Refusal::kDraining));
  EXPECT_TRUE(GotRefusal(second, Refusal::kDraining));
  EXPECT_EQ(first->answer->waited, absl::Seconds(1));
  EXPECT_EQ(Look().state, State::kAbsent);
  EXPECT_EQ(group_->NextTimer(), absl::InfiniteFuture());
}

TEST_F(Draining, SettlesAndLooks) {
  const Token a = Hold({.key = "a", .request_id = "a"});
  const Token b = Hold({.key = "b", .request_id = "b"});
  const Token c = Hold({.key = "c", .request_id = "c"});
  const Call commit = Commit(a, "done", "a");
  const Call release = Release(b, "b");
  const Call extend = Extend(c, absl::Seconds(30), "c");
  const Call look = Inspect("a");
  ExecuteDraining();
  EXPECT_TRUE(Got<CommitDone>(commit));
  EXPECT_TRUE(Got<ReleaseDone>(release));
  EXPECT_TRUE(Got<ExtendDone>(extend));
  ASSERT_TRUE(Got<Inspected>(look));
  EXPECT_EQ(As<Inspected>(look).state, State::kCommitted);
}

// ---- A disk that is nearly full ----

using LowOnSpace = GroupTest;

TEST_F(LowOnSpace, GrantsNothing) {
  Hold({.key = "held", .request_id = "holder", .lease = absl::Seconds(1)});
  store_->SetLowOnSpace(true);
  const Call absent = Reserve({.key = "absent"});
  const Call conflict = Reserve({.key = "held"});
  const Call again = Reserve({.key = "held", .request_id = "holder"});
  Execute();
  EXPECT_TRUE(GotRefusal(absent, Refusal::kDiskFull));
  EXPECT_TRUE(Got<Conflict>(conflict));
  EXPECT_TRUE(Got<Fresh>(again));  // It was granted when there was room.
  const Call waiter = Reserve({.key = "held", .request_id = "w", .wait = absl::Seconds(60)});
  Execute();
  EXPECT_TRUE(IsParked(waiter));
  Advance(absl::Seconds(1));
  Execute();
  EXPECT_TRUE(GotRefusal(waiter, Refusal::kDiskFull));
  EXPECT_EQ(Look("held").state, State::kLapsed);
  store_->SetLowOnSpace(false);
  const Call granted = Reserve({.key = "absent"});
  Execute();
  EXPECT_TRUE(Got<Fresh>(granted));
}

TEST_F(LowOnSpace, SettlesReplaysAndLooks) {
  const Token a = Hold({.key = "a", .request_id = "a"});
  const Token b = Hold({.key = "b", .request_id = "b"});
  const Token c = Hold({.key = "c", .request_id = "c"});
  store_->SetLowOnSpace(true);
  const Call commit = Commit(a, "done", "a");
  const Call replay = Reserve({.key = "a"});
  const Call release = Release(b, "b");
  const Call extend = Extend(c, absl::Seconds(30), "c");
  const Call look = Inspect("a");
  Execute();
  EXPECT_TRUE(Got<CommitDone>(commit));
  EXPECT_TRUE(Got<Replayed>(replay));
  EXPECT_TRUE(Got<ReleaseDone>(release));
  EXPECT_TRUE(Got<ExtendDone>(extend));
  EXPECT_TRUE(Got<Inspected>(look));
}

// ---- Restarts ----

using Restarted = GroupTest;

TEST_F(Restarted, ALeaseThatRanOutMeanwhileIsGivenGraceAndItsWaitersWaitForThat) {
  const Token token = Hold();
  Restart(absl::Minutes(5));
  const absl::Time grace_until = now_ + absl::Seconds(15);
  const Call waiter = Park("w");
  const Call other = Park("x");
  const Call impatient = Reserve({.request_id = "y"});
  Execute();
  EXPECT_TRUE(Got<Conflict>(impatient));
  EXPECT_EQ(group_->NextTimer(), grace_until);
  now_ = grace_until - kTick;
  Execute();
  EXPECT_TRUE(IsParked(waiter));
  now_ = grace_until;
  Execute();
  ASSERT_TRUE(Got<Fresh>(waiter));
  EXPECT_EQ(As<Fresh>(waiter).attempt, 2u);
  EXPECT_TRUE(IsParked(other));
  const Call superseded = Commit(token);
  Execute();
  EXPECT_TRUE(GotRefusal(superseded, Refusal::kSuperseded));
}

TEST_F(Restarted, TheHolderCommitsWithinTheGrace) {
  const Token token = Hold();
  Restart(absl::Minutes(5));
  const Call waiter = Park("w");
  Advance(absl::Seconds(14));
  const Call commit = Commit(token);
  Execute();
  ASSERT_TRUE(Got<CommitDone>(commit));
  EXPECT_FALSE(As<CommitDone>(commit).late);
  EXPECT_TRUE(Got<Replayed>(waiter));
}

// ---- A record that can't be read ----

using Unreadable = GroupTest;

TEST_F(Unreadable, FailsItsOwnKeyAlone) {
  const Token token = Hold();
  Hold({.key = "other", .request_id = "h"});
  store_->FailReads({"ns", "key"}, absl::DataLossError("fake"));
  const Call bad[] = {Reserve({.request_id = "1"}),
                      Reserve({.request_id = "2", .wait = absl::Seconds(60)}),
                      Commit(token),
                      Release(token),
                      Extend(token, absl::Seconds(99)),
                      Inspect()};
  const Call good = Reserve({.key = "other", .request_id = "h"});
  const Call fresh = Reserve({.key = "new"});
  Execute();
  for (const Call& call : bad) EXPECT_TRUE(GotRefusal(call, Refusal::kStoreFailed));
  EXPECT_TRUE(Got<Fresh>(good));
  EXPECT_TRUE(Got<Fresh>(fresh));
  EXPECT_FALSE(group_->failed());
  store_->HealReads();
  EXPECT_EQ(Look().state, State::kPending);
}

TEST_F(Unreadable, EndsTheWaitsWhenTheyAreLookedAt) {
  Hold();
  const Call lapsing = Park("1");
  const Call ending = Park("2", absl::Seconds(5));
  store_->FailReads({"ns", "key"}, absl::DataLossError("fake"));
  Advance(absl::Seconds(5));
  Execute();
  EXPECT_TRUE(GotRefusal(ending, Refusal::kStoreFailed));
  Advance(absl::Seconds(5));
  Execute();
  EXPECT_TRUE(GotRefusal(lapsing, Refusal::kStoreFailed));
  EXPECT_EQ(group_->NextTimer(), absl::InfiniteFuture());
}

TEST_F(Unreadable, DamagedBytesAreNeitherOverwrittenNorTakenForAbsent) {
  Hold();
  disk_.Damage({3}, {"ns", "key"}, "damaged");
  const Call call = Reserve({.request_id = "1"});
  Execute();
  EXPECT_TRUE(GotRefusal(call, Refusal::kStoreFailed));
  EXPECT_EQ(store_->writes(), 1);
}

// ---- A write that fails ----

using FailedWrite = GroupTest;

TEST_F(FailedWrite, SaysUnknownOfWhatWasWrittenAndTheTruthOfTheRest) {
  for (const auto landing : {FaultyStore::Landing::kLands, FaultyStore::Landing::kIsLost}) {
    const bool lands = landing == FaultyStore::Landing::kLands;
    SCOPED_TRACE(lands ? "lands" : "is lost");
    const std::string tag = lands ? "1" : "2";
    const Token token = Hold({.key = "held" + tag, .request_id = "h"});
    store_->FailWrite(1, landing);
    const Call fresh = Reserve({.key = "new" + tag, .request_id = "1"});
    const Call conflict = Reserve({.key = "new" + tag, .request_id = "2"});
    const Call commit = Commit(token, "done", "held" + tag);
    const Call look = Inspect("held" + tag);
    const Call untouched = Inspect("absent");
    const Call refused = Commit(token, "done", "absent");
    Execute();
    for (const Call& call : {fresh, conflict, commit, look}) {
      EXPECT_TRUE(GotRefusal(call, Refusal::kOutcomeUnknown));
    }
    EXPECT_TRUE(Got<Inspected>(untouched));
    EXPECT_TRUE(GotRefusal(refused, Refusal::kNotReserved));
    EXPECT_TRUE(group_->failed());
    Restart(absl::ZeroDuration());
    EXPECT_EQ(Look("held" + tag).state, lands ? State::kCommitted : State::kPending);
    EXPECT_EQ(Look("new" + tag).state, lands ? State::kPending : State::kAbsent);
  }
}

TEST_F(FailedWrite, EverythingAfterwardsIsRefused) {
  const Token token = Hold();
  store_->FailWrite(1, FaultyStore::Landing::kIsLost);
  Reserve({.key = "new"});
  Execute();
  const int writes = store_->writes();
  const Call calls[] = {Reserve({.request_id = "holder"}), Commit(token), Release(token),
                        Extend(token, absl::Seconds(9)), Inspect()};
  Execute();
  for (const Call& call : calls) EXPECT_TRUE(GotRefusal(call, Refusal::kStoreFailed));
  EXPECT_EQ(store_->writes(), writes);
}

// A store that says that one write failed, and is well again afterwards.
class HealedStore final : public StoreWrapper {
 public:
  explicit HealedStore(Store& real) : StoreWrapper(real) {}
  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override {
    const bool fails = units++ == 0;
    real().Run(std::move(work), body,
               [fails, durable = std::move(durable)](const absl::Status& status) mutable {
                 std::move(durable)(fails ? absl::UnavailableError("fake") : status);
               });
  }

  int units = 0;
};

TEST_F(FailedWrite, TheGroupDoesNotTryAgainWhateverTheStoreSays) {
  HealedStore healed(*memory_);
  ShardGroup group(healed, *random_, waiter_count_, telemetry_);
  const Call first = Reserve();
  group.Execute(std::exchange(drain_, {}), now_);
  EXPECT_TRUE(GotRefusal(first, Refusal::kOutcomeUnknown));
  const Call second = Reserve({.key = "another"});
  group.Execute(std::exchange(drain_, {}), now_);
  EXPECT_TRUE(GotRefusal(second, Refusal::kStoreFailed));
  EXPECT_EQ(healed.units, 1);
}

TEST_F(FailedWrite, EndsAllWaits) {
  const Token token = Hold();
  Hold({.key = "other", .request_id = "h"});
  const Call chosen = Park("1");
  const Call left = Park("2");
  const Call elsewhere = Reserve({.key = "other", .request_id = "x", .wait = absl::Seconds(60)});
  Execute();
  store_->FailWrite(1, FaultyStore::Landing::kLands);
  const Call release = Release(token);
  Execute();
  EXPECT_TRUE(GotRefusal(release, Refusal::kOutcomeUnknown));
  EXPECT_TRUE(GotRefusal(chosen, Refusal::kOutcomeUnknown));
  EXPECT_TRUE(GotRefusal(left, Refusal::kStoreFailed));
  EXPECT_TRUE(GotRefusal(elsewhere, Refusal::kStoreFailed));
  EXPECT_EQ(group_->NextTimer(), absl::InfiniteFuture());
}

// ---- Nothing is answered before it is durable: see shard_group_durability_test.cc ----

using Durability = GroupTest;

TEST_F(Durability, NothingIsAnsweredBeforeItsKeyIsDurable) {
  const Token token = Hold();
  const Call waiter = Park("w");
  store_->HoldDurability();
  const Call calls[] = {Reserve({.key = "new"}),
                        Commit(token),
                        Reserve({.request_id = "other"}),
                        Reserve({.request_id = "mis", .fingerprint = "mis"}),
                        Release(token),
                        waiter};
  const Call untouched[] = {Inspect("absent"), Commit(token, "x", "absent")};
  Execute();
  for (const Call& call : calls) EXPECT_EQ(call->answers, 0);
  EXPECT_TRUE(Got<Inspected>(untouched[0]));
  EXPECT_TRUE(GotRefusal(untouched[1], Refusal::kNotReserved));
  store_->ReleaseDurability();
  for (const Call& call : calls) EXPECT_EQ(call->answers, 1);
  EXPECT_TRUE(Got<Fresh>(calls[0]));
  EXPECT_TRUE(Got<Replayed>(waiter));
}

TEST_F(Durability, AGrantThatNobodyKnowsOfYetIsNobodyElses) {
  store_->HoldDurability();
  const Call first = Reserve({.request_id = "1"});
  Execute();
  const Call second = Reserve({.request_id = "2"});
  Execute();
  store_->ReleaseDurability();
  EXPECT_TRUE(Got<Fresh>(first));
  EXPECT_TRUE(Got<Conflict>(second));
}

TEST_F(Durability, AStoreMayAnswerAfterTheGroupHasGone) {
  const Token token = Hold();
  const Call parked = Park("w");
  store_->HoldDurability();
  const Call extend = Extend(token, absl::Seconds(30));
  Execute();
  group_.reset();
  EXPECT_TRUE(GotRefusal(parked, Refusal::kDraining));
  EXPECT_EQ(extend->answers, 0);
  store_->ReleaseDurability();
  EXPECT_TRUE(Got<ExtendDone>(extend));
}

TEST_F(Durability, AFailureHeardLateStopsTheGroupAndItsWaits) {
  const Token token = Hold();
  const Call parked = Park("w", absl::Seconds(5));
  store_->HoldDurability();
  store_->FailWrite(1, FaultyStore::Landing::kIsLost);
  const Call extend = Extend(token, absl::Seconds(30));
  Execute();
  EXPECT_FALSE(group_->failed());
  store_->ReleaseDurability();
  EXPECT_TRUE(GotRefusal(extend, Refusal::kOutcomeUnknown));
  EXPECT_TRUE(group_->failed());
  Advance(absl::Seconds(5));
  Execute();
  EXPECT_TRUE(GotRefusal(parked, Refusal::kStoreFailed));
}

// ---- Refuse() and the end ----

TEST_F(GroupTest, RefuseAnswersEverythingAndJudgesNothing) {
  const Token token = Hold();
  const Call parked = Park("w");
  Advance(absl::Seconds(1));
  const Call commit = Commit(token);
  group_->Refuse(std::exchange(drain_, {}), now_, Refusal::kStoreFailed);
  EXPECT_TRUE(GotRefusal(parked, Refusal::kStoreFailed));
  EXPECT_EQ(parked->answer->waited, absl::Seconds(1));
  EXPECT_TRUE(GotRefusal(commit, Refusal::kStoreFailed));
  EXPECT_EQ(Look().state, State::kPending);
}

TEST_F(GroupTest, TheDestructorEndsAllWaits) {
  Hold();
  const Call parked = Park("w");
  group_.reset();
  EXPECT_TRUE(GotRefusal(parked, Refusal::kDraining));
}

TEST_F(GroupTest, AnEmptyDrainIsNothing) {
  Execute();
  EXPECT_EQ(store_->writes(), 0);
  EXPECT_EQ(group_->NextTimer(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace onced::shard_test
