// Section 4 of docs/protocol.md, sentence by sentence.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/shard/group_fixture.h"

namespace onced::shard_test {
namespace {

using Waiting = GroupTest;

// ---- How a wait begins and ends by itself ----

TEST_F(Waiting, EndsWithConflictAtWaitTimeout) {
  Hold();
  const Call call = Park("w", absl::Seconds(3));
  EXPECT_EQ(group_->NextTimer(), now_ + absl::Seconds(3));
  Advance(absl::Seconds(3) - kTick);
  Execute();
  EXPECT_TRUE(IsParked(call));
  Advance(kTick);
  Execute();
  ASSERT_TRUE(Got<Conflict>(call));
  EXPECT_EQ(call->answer->waited, absl::Seconds(3));
  EXPECT_EQ(call->answer->server_time, now_);
  EXPECT_GT(As<Conflict>(call).retry_delay, absl::ZeroDuration());
  EXPECT_LE(As<Conflict>(call).retry_delay, absl::Seconds(1));
  EXPECT_EQ(group_->NextTimer(), absl::InfiniteFuture());
}

TEST_F(Waiting, EndsAMarginBeforeTheCallersDeadline) {
  Hold();
  const absl::Time deadline = now_ + absl::Seconds(2);
  const Call call = Reserve({.request_id = "w", .wait = absl::Seconds(9), .deadline = deadline});
  Execute();
  Advance(absl::Seconds(2) - kMargin - kTick);
  Execute();
  EXPECT_TRUE(IsParked(call));
  Advance(kTick);
  Execute();
  EXPECT_TRUE(Got<Conflict>(call));
}

TEST_F(Waiting, EndsAtWaitTimeoutWhereTheDeadlineIsLater) {
  Hold();
  const Call call = Reserve({.request_id = "w",
                             .wait = absl::Seconds(1),
                             .deadline = now_ + absl::Seconds(1) + kMargin + kTick});
  Execute();
  Advance(absl::Seconds(1) - kTick);
  Execute();
  EXPECT_TRUE(IsParked(call));
  Advance(kTick);
  Execute();
  EXPECT_TRUE(Got<Conflict>(call));
}

TEST_F(Waiting, DoesNotBeginWithinTheMargin) {
  Hold();
  const Call within =
      Reserve({.request_id = "w", .wait = absl::Seconds(9), .deadline = now_ + kMargin});
  const Call just_before =
      Reserve({.request_id = "x", .wait = absl::Seconds(9), .deadline = now_ + kMargin + kTick});
  Execute();
  EXPECT_TRUE(Got<Conflict>(within));
  EXPECT_TRUE(IsParked(just_before));
}

TEST_F(Waiting, IsForAPendingKeyWithTheSameFingerprintOnly) {
  const Call absent = Reserve({.key = "absent", .request_id = "a", .wait = absl::Seconds(9)});
  const Token token = Hold();
  const Call other = Reserve({.request_id = "b", .wait = absl::Seconds(9), .fingerprint = "other"});
  const Call regained = Reserve({.request_id = "holder", .wait = absl::Seconds(9)});
  Execute();
  EXPECT_TRUE(Got<Fresh>(absent));
  EXPECT_TRUE(Got<Mismatch>(other));
  ASSERT_TRUE(Got<Fresh>(regained));
  EXPECT_EQ(As<Fresh>(regained).token, token);
  Commit(token);
  const Call committed = Reserve({.request_id = "c", .wait = absl::Seconds(9)});
  Execute();
  EXPECT_TRUE(Got<Replayed>(committed));
  EXPECT_EQ(waiter_count_.total(), 0u);
}

// ---- Commit ----

TEST_F(Waiting, CommitWakesAllWithTheReplay) {
  const Token token = Hold();
  std::vector<Call> waiters;
  for (int i = 0; i < 20; ++i) waiters.push_back(Park(std::to_string(i)));
  Advance(absl::Seconds(1));
  const std::string body("\0\xff bytes", 8);
  const Call commit = Commit(token, body);
  Execute();
  ASSERT_TRUE(Got<CommitDone>(commit));
  for (const Call& waiter : waiters) {
    ASSERT_TRUE(Got<Replayed>(waiter));
    EXPECT_EQ(*As<Replayed>(waiter).result, ResultWith(body));
    EXPECT_EQ(As<Replayed>(waiter).commit_time, now_);
    EXPECT_EQ(waiter->answer->waited, absl::Seconds(1));
  }
  EXPECT_EQ(group_->NextTimer(), absl::InfiniteFuture());
}

// ---- Release ----

TEST_F(Waiting, ReleaseGrantsExactlyTheLongestWaiting) {
  Token token = Hold();
  const Call first = Park("1");
  const Call second = Park("2");
  const Call third = Park("3");
  Fence fence = Look().record->fence;
  for (const Call& next : {first, second, third}) {
    Release(token);
    Execute();
    ASSERT_TRUE(Got<Fresh>(next));
    EXPECT_GT(As<Fresh>(next).fence, fence);
    EXPECT_EQ(As<Fresh>(next).attempt, 1u);
    EXPECT_EQ(As<Fresh>(next).previous, std::nullopt);
    EXPECT_EQ(third->answers, next == third ? 1 : 0);
    EXPECT_EQ(second->answers, next == first ? 0 : 1);
    token = As<Fresh>(next).token;
    fence = As<Fresh>(next).fence;
  }
  EXPECT_EQ(telemetry_.takeovers, 0u);
}

TEST_F(Waiting, ThoseWhoStayWaitForTheNewHoldersLease) {
  const Token token = Hold();
  Reserve({.request_id = "1", .wait = absl::Seconds(60), .lease = absl::Seconds(3)});
  const Call second = Reserve({.request_id = "2", .wait = absl::Seconds(60)});
  Release(token);
  Execute();
  EXPECT_EQ(group_->NextTimer(), now_ + absl::Seconds(3));
  Advance(absl::Seconds(3));
  Execute();
  ASSERT_TRUE(Got<Fresh>(second));
  EXPECT_EQ(As<Fresh>(second).attempt, 2u);
}

TEST_F(Waiting, AReleaseDoesNotGoToWhoeverComesLater) {
  const Token token = Hold();
  const Call waiter = Park("w");
  Release(token);
  const Call newcomer = Reserve({.request_id = "n"});
  Execute();
  EXPECT_TRUE(Got<Fresh>(waiter));
  EXPECT_TRUE(Got<Conflict>(newcomer));
}

TEST_F(Waiting, KeysDoNotMix) {
  const Token token = Hold();
  Hold({.key = "another", .request_id = "h"});
  const Call waiter = Park("w");
  const Call stranger = Reserve({.key = "another", .request_id = "x", .wait = absl::Seconds(60)});
  Release(token);
  Execute();
  EXPECT_TRUE(Got<Fresh>(waiter));
  EXPECT_TRUE(IsParked(stranger));
}

// ---- Lapse ----

TEST_F(Waiting, LapseUnderRegrantGrantsExactlyTheLongestWaiting) {
  Hold({.request_id = "holder", .owner = "alice"});
  const absl::Time lapse = now_ + absl::Seconds(10);
  const Fence fence = Look().record->fence;
  const Call first = Park("1");
  const Call second = Park("2");
  EXPECT_EQ(group_->NextTimer(), lapse);
  now_ = lapse - kTick;
  Execute();
  EXPECT_TRUE(IsParked(first));
  now_ = lapse;
  Execute();
  ASSERT_TRUE(Got<Fresh>(first));
  EXPECT_EQ(As<Fresh>(first).attempt, 2u);
  EXPECT_EQ(As<Fresh>(first).previous, (Previous{fence, "alice", lapse}));
  EXPECT_TRUE(IsParked(second));
  EXPECT_EQ(telemetry_.takeovers, 1u);
  Advance(absl::Seconds(10));
  Execute();
  ASSERT_TRUE(Got<Fresh>(second));
  EXPECT_EQ(As<Fresh>(second).attempt, 3u);
  EXPECT_EQ(telemetry_.takeovers, 2u);
}

TEST_F(Waiting, LapseUnderHoldEndsAllWithUnresolved) {
  policy_.on_lapse = OnLapse::kHold;
  const Token token = Hold();
  const Call first = Park("1");
  const Call second = Park("2");
  policy_.on_lapse = OnLapse::kRegrant;  // A change of policy never reaches back.
  Advance(absl::Seconds(10));
  Execute();
  EXPECT_TRUE(Got<Unresolved>(first));
  EXPECT_TRUE(Got<Unresolved>(second));
  EXPECT_EQ(Look().state, State::kLapsed);
  const Call late = Commit(token);
  Execute();
  ASSERT_TRUE(Got<CommitDone>(late));
  EXPECT_TRUE(As<CommitDone>(late).late);
}

TEST_F(Waiting, WithoutRetentionALapseGrantsAnew) {
  policy_.lapsed_retention = absl::ZeroDuration();
  Hold();
  const Call first = Park("1");
  const Call second = Park("2");
  Advance(absl::Seconds(10));
  Execute();
  ASSERT_TRUE(Got<Fresh>(first));
  EXPECT_EQ(As<Fresh>(first).attempt, 1u);
  EXPECT_EQ(As<Fresh>(first).previous, std::nullopt);
  EXPECT_TRUE(IsParked(second));
  Advance(absl::Seconds(10));
  const Call newcomer = Reserve({.request_id = "n"});
  Execute();
  EXPECT_TRUE(Got<Fresh>(second));
  EXPECT_TRUE(Got<Conflict>(newcomer));
}

TEST_F(Waiting, ALapsedKeyGoesToItsLongestWaiterBeforeAReserveIsJudged) {
  Hold();
  const Call first = Park("1");
  const Call second = Park("2");
  Advance(absl::Seconds(10));
  const Call newcomer = Reserve({.request_id = "n"});
  const Call patient = Reserve({.request_id = "p", .wait = absl::Seconds(60)});
  Execute();
  EXPECT_TRUE(Got<Fresh>(first));
  EXPECT_TRUE(IsParked(second));
  EXPECT_TRUE(Got<Conflict>(newcomer));
  EXPECT_TRUE(IsParked(patient));
}

// ---- Commit, Extend and Release are judged on the record as found ----

TEST_F(Waiting, ALateCommitComesBeforeTheLapseOfItsDrain) {
  const Token token = Hold();
  const Call waiter = Park("w");
  Advance(absl::Seconds(11));
  const Call commit = Commit(token);
  const Call newcomer = Reserve({.request_id = "n"});
  Execute();
  ASSERT_TRUE(Got<CommitDone>(commit));
  EXPECT_TRUE(As<CommitDone>(commit).late);
  EXPECT_TRUE(Got<Replayed>(waiter));
  EXPECT_TRUE(Got<Replayed>(newcomer));
}

TEST_F(Waiting, ALateExtendComesBeforeTheLapseOfItsDrain) {
  const Token token = Hold();
  const Call waiter = Park("w");
  Advance(absl::Seconds(11));
  const Call extend = Extend(token, absl::Seconds(5));
  Execute();
  ASSERT_TRUE(Got<ExtendDone>(extend));
  EXPECT_TRUE(IsParked(waiter));
  EXPECT_EQ(group_->NextTimer(), now_ + absl::Seconds(5));
}

TEST_F(Waiting, ALateReleaseComesBeforeTheLapseOfItsDrain) {
  const Token token = Hold();
  const Call waiter = Park("w");
  Advance(absl::Seconds(11));
  const Call release = Release(token);
  Execute();
  ASSERT_TRUE(Got<ReleaseDone>(release));
  EXPECT_TRUE(As<ReleaseDone>(release).released);
  ASSERT_TRUE(Got<Fresh>(waiter));
  EXPECT_EQ(As<Fresh>(waiter).attempt, 1u);
}

TEST_F(Waiting, AReserveThatCameBeforeACommitIsJudgedBeforeIt) {
  const Token token = Hold();
  const Call waiter = Park("w");
  Advance(absl::Seconds(11));
  Reserve({.request_id = "n"});
  const Call commit = Commit(token);
  Execute();
  EXPECT_TRUE(Got<Fresh>(waiter));
  EXPECT_TRUE(GotRefusal(commit, Refusal::kSuperseded));
}

TEST_F(Waiting, ExtendMovesTheLapse) {
  const Token token = Hold();
  const Call waiter = Park("w");
  Advance(absl::Seconds(9));
  Extend(token, absl::Seconds(10));
  Execute();
  EXPECT_EQ(group_->NextTimer(), now_ + absl::Seconds(10));
  Advance(absl::Seconds(10) - kTick);
  Execute();
  EXPECT_TRUE(IsParked(waiter));
  Advance(kTick);
  Execute();
  EXPECT_TRUE(Got<Fresh>(waiter));
}

TEST_F(Waiting, WhatSettlesNothingWakesNobody) {
  Hold();
  const Call waiter = Park("w");
  const Token stranger{};
  const Call calls[] = {Commit(stranger), Release(stranger), Extend(stranger, absl::Seconds(99)),
                        Inspect(), Reserve({.request_id = "holder"})};
  Execute();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(GotRefusal(calls[i], Refusal::kSuperseded));
  EXPECT_TRUE(IsParked(waiter));
  EXPECT_EQ(group_->NextTimer(), now_ + absl::Seconds(10));
}

// ---- Request ids ----

TEST_F(Waiting, AGrantAnswersEveryParkedReserveWithItsRequestId) {
  const Token token = Hold();
  const Call a = Park("a");
  const Call b = Park("b");
  const Call a_again = Park("a");
  const Call nameless = Park("");
  Release(token);
  Execute();
  ASSERT_TRUE(Got<Fresh>(a));
  ASSERT_TRUE(Got<Fresh>(a_again));
  EXPECT_EQ(As<Fresh>(a), As<Fresh>(a_again));
  EXPECT_TRUE(IsParked(b));
  EXPECT_TRUE(IsParked(nameless));
}

TEST_F(Waiting, AGrantToANamelessOneAnswersNoOtherNamelessOne) {
  const Token token = Hold();
  const Call first = Park("");
  const Call second = Park("");
  Release(token);
  Execute();
  EXPECT_TRUE(Got<Fresh>(first));
  EXPECT_TRUE(IsParked(second));
}

TEST_F(Waiting, ALapseAnswersEveryParkedReserveWithItsRequestId) {
  Hold();
  const Call a = Park("a");
  const Call b = Park("b");
  const Call a_again = Park("a");
  Advance(absl::Seconds(10));
  Execute();
  ASSERT_TRUE(Got<Fresh>(a));
  ASSERT_TRUE(Got<Fresh>(a_again));
  EXPECT_EQ(As<Fresh>(a), As<Fresh>(a_again));
  EXPECT_TRUE(IsParked(b));
}

// ---- Order ----

TEST_F(Waiting, TheLongestWaitingIsWhoeverIsStillThere) {
  const Token token = Hold();
  const Call impatient = Park("1", absl::Seconds(1));
  const Call second = Park("2");
  Advance(absl::Seconds(1));
  Execute();
  EXPECT_TRUE(Got<Conflict>(impatient));
  Release(token);
  Execute();
  EXPECT_TRUE(Got<Fresh>(second));
}

TEST_F(Waiting, GivesNothingToACallerWhoseDeadlineHasPassed) {
  const Token token = Hold();
  const Call late =
      Reserve({.request_id = "1", .wait = absl::Seconds(60), .deadline = now_ + absl::Seconds(2)});
  const Call second = Park("2");
  Advance(absl::Seconds(2));  // One drain for all: the timer of the first was late.
  Release(token);
  Execute();
  EXPECT_TRUE(GotRefusal(late, Refusal::kDeadlinePassed));
  EXPECT_TRUE(Got<Fresh>(second));
}

// All that may happen at one time does; nobody is left behind and no timer in the past.
TEST_F(Waiting, LapseAndTimeoutInOneDrain) {
  Hold();
  const Call first = Park("1", absl::Seconds(10));
  const Call second = Park("2", absl::Seconds(10));
  const Call third = Park("3");
  Advance(absl::Seconds(10));
  Execute();
  EXPECT_TRUE(Got<Fresh>(first));
  EXPECT_TRUE(Got<Conflict>(second));
  EXPECT_TRUE(IsParked(third));
}

// ---- Those who go away ----

// What else is in the drain that says that the longest waiter has gone.
enum class Beside { kNothing, kRelease, kCommit, kLapse };
using Cancelled = Waiting;

TEST_F(Cancelled, IsNeverGivenAnything) {
  for (const Beside beside :
       {Beside::kNothing, Beside::kRelease, Beside::kCommit, Beside::kLapse}) {
    for (const bool cancel_first : {true, false}) {
      for (const bool same_drain : {true, false}) {
        SCOPED_TRACE(testing::Message() << "beside " << static_cast<int>(beside) << ", first "
                                        << cancel_first << ", same drain " << same_drain);
        MakeGroup();
        name_space_ += "+";  // A world of its own.
        const Token token = Hold();
        const Call gone = Park("gone");
        const Call next = Park("next");
        if (!same_drain && !cancel_first) continue;  // Chosen before it went: another test.
        if (cancel_first) Cancel(gone);
        if (!same_drain) Execute();
        if (beside == Beside::kRelease) Release(token);
        if (beside == Beside::kCommit) Commit(token);
        if (beside == Beside::kLapse) Advance(absl::Seconds(10));
        if (!cancel_first) Cancel(gone);
        Execute();
        EXPECT_TRUE(GotRefusal(gone, Refusal::kCancelled));
        switch (beside) {
          case Beside::kNothing:
            EXPECT_TRUE(IsParked(next));
            break;
          case Beside::kRelease:
          case Beside::kLapse:
            EXPECT_TRUE(Got<Fresh>(next));
            break;
          case Beside::kCommit:
            EXPECT_TRUE(Got<Replayed>(next));
            break;
        }
      }
    }
  }
}

TEST_F(Cancelled, NeverTouchesTheHoldersRecord) {
  const Token token = Hold();
  const Inspected before = Look();
  const int writes = store_->writes();
  const Call waiter = Park("w");
  Cancel(waiter);
  Execute();
  EXPECT_TRUE(GotRefusal(waiter, Refusal::kCancelled));
  EXPECT_EQ(Look(), before);
  EXPECT_EQ(store_->writes(), writes);
  EXPECT_EQ(group_->NextTimer(), absl::InfiniteFuture());
  const Call commit = Commit(token);
  Execute();
  EXPECT_TRUE(Got<CommitDone>(commit));
}

TEST_F(Cancelled, BeforeItWasEvenJudged) {
  const Call gone = Reserve({.request_id = "gone"});
  const Call look = Inspect();
  Cancel(gone);
  Cancel(look);
  const Call other = Reserve({.request_id = "other"});
  Execute();
  EXPECT_TRUE(GotRefusal(gone, Refusal::kCancelled));
  EXPECT_TRUE(GotRefusal(look, Refusal::kCancelled));
  EXPECT_TRUE(Got<Fresh>(other));
}

TEST_F(Cancelled, WhatSettlesIsDoneAllTheSame) {
  const Token a = Hold({.key = "a", .request_id = "a"});
  const Token b = Hold({.key = "b", .request_id = "b"});
  const Token c = Hold({.key = "c", .request_id = "c"});
  const Call commit = Commit(a, "done", "a");
  const Call release = Release(b, "b");
  const Call extend = Extend(c, absl::Seconds(30), "c");
  for (const Call& call : {commit, release, extend}) Cancel(call);
  Execute();
  EXPECT_TRUE(Got<CommitDone>(commit));
  EXPECT_TRUE(Got<ReleaseDone>(release));
  EXPECT_TRUE(Got<ExtendDone>(extend));
  EXPECT_EQ(Look("a").state, State::kCommitted);
  EXPECT_EQ(Look("b").state, State::kAbsent);
}

TEST_F(Cancelled, AfterItWasChosenItsLeaseLapses) {
  const Token token = Hold();
  const Call chosen = Park("1");
  const Call next = Park("2");
  Release(token);
  Execute();
  ASSERT_TRUE(Got<Fresh>(chosen));
  Cancel(chosen);
  Execute();
  EXPECT_EQ(Look().state, State::kPending);
  EXPECT_TRUE(IsParked(next));
  Advance(absl::Seconds(10));
  Execute();
  EXPECT_TRUE(Got<Fresh>(next));
}

TEST_F(Cancelled, AfterItWasChosenItRegainsItByItsRequestId) {
  const Token token = Hold();
  const Call chosen = Park("1");
  Release(token);
  Execute();
  Cancel(chosen);
  const Call again = Reserve({.request_id = "1"});
  Execute();
  ASSERT_TRUE(Got<Fresh>(again));
  EXPECT_EQ(As<Fresh>(again), As<Fresh>(chosen));
}

TEST_F(Cancelled, OfAnUnknownRequestIsNothing) {
  const Token token = Hold();
  const Call waiter = Park("w");
  drain_.cancelled = {RequestId{999}, RequestId{0}};
  Execute();
  EXPECT_TRUE(IsParked(waiter));
  Release(token);
  Execute();
  EXPECT_TRUE(Got<Fresh>(waiter));
}

// ---- Caps ----

using Caps = Waiting;

TEST_F(Caps, OverThePerKeyCapIsAConflictAtOnce) {
  policy_.waiters_per_key_max = 3;
  Hold();
  const std::vector<Call> parked = {Park("1"), Park("2"), Park("3")};
  const Call over = Reserve({.request_id = "4", .wait = absl::Seconds(60)});
  Execute();
  EXPECT_TRUE(Got<Conflict>(over));
  for (const Call& call : parked) EXPECT_TRUE(IsParked(call));
  Hold({.key = "another", .request_id = "h"});
  const Call elsewhere = Reserve({.key = "another", .request_id = "x", .wait = absl::Seconds(60)});
  Execute();
  EXPECT_TRUE(IsParked(elsewhere));
  Cancel(parked[1]);
  const Call room = Reserve({.request_id = "5", .wait = absl::Seconds(60)});
  Execute();
  EXPECT_TRUE(IsParked(room));
}

TEST_F(Caps, OverThePerNamespaceCapIsAConflictAtOnce) {
  policy_.waiters_max = 2;
  const Token token = Hold();
  Hold({.key = "another", .request_id = "h"});
  const Call first = Park("1");
  const Call second = Reserve({.key = "another", .request_id = "2", .wait = absl::Seconds(60)});
  const Call over = Reserve({.key = "another", .request_id = "3", .wait = absl::Seconds(60)});
  Execute();
  EXPECT_TRUE(IsParked(second));
  EXPECT_TRUE(Got<Conflict>(over));
  name_space_ = "other";
  Hold({.request_id = "h"});
  Park("4");
  name_space_ = "ns";
  Release(token);
  Execute();
  EXPECT_TRUE(Got<Fresh>(first));
  Park("5");  // There is room again.
}

TEST_F(Caps, EveryEndOfAWaitMakesRoom) {
  policy_.waiters_max = 1;
  Token token = Hold({.request_id = "holder", .lease = absl::Seconds(30)});
  Park("timeout", absl::Seconds(1));
  Advance(absl::Seconds(1));
  Execute();
  Cancel(Park("cancelled"));
  Execute();
  const Call granted = Park("granted");
  Release(token);
  Execute();
  token = As<Fresh>(granted).token;
  Park("replayed");
  Commit(token);
  Execute();
  EXPECT_EQ(waiter_count_.total(), 0u);
}

TEST_F(Caps, ZeroMeansThatNobodyWaits) {
  policy_.waiters_per_key_max = 0;
  Hold();
  const Call call = Reserve({.request_id = "w", .wait = absl::Seconds(60)});
  Execute();
  EXPECT_TRUE(Got<Conflict>(call));
}

}  // namespace
}  // namespace onced::shard_test
