#include "tests/fault/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fault/checker/script.h"
#include "tests/fault/evidence.h"
#include "tests/fault/invariants.h"
#include "tests/fault/linearize.h"
#include "tests/fault/load.h"

namespace onced::fault {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kSteps = 100'000;

Rules TestRules() {
  return {{"regrant", {}}, {"held", {.hold = true}}, {"brief", {.lapsed_retention = Seconds(20)}}};
}

Linearization OrderOf(const Recording& run) {
  const std::vector<Event> events = EventsOf(run);
  const std::string& key = events.front().call->key;
  return Linearize(events, run.lives, TestRules().at(key.substr(0, key.find('/'))), kSteps);
}

struct Case {
  std::string name;
  Script script;
  // Of a bad history: what the invariants say. Empty: only the order shows it.
  std::string broken;
};
void PrintTo(const Case& one, std::ostream* os) { *os << one.name; }
std::string NameOf(const testing::TestParamInfo<Case>& info) { return info.param.name; }

// Several of them begin so.
Script Granted() { return Script().Do(Reserve("a"), Fresh(1, "A", 5)); }
Script CommittedAt2() { return Granted().Do(Commit("A"), Done(2)); }
Script GrantUnknown() { return Script().Do(Reserve("a"), Unknown()); }

// ---- What a correct server may answer ----

std::vector<Case> GoodCases() {
  return {
      {"Nothing", Script().Do(Inspect(), SeenAbsent(1))},
      {"CommitAndReplay", CommittedAt2().Do(Reserve("b"), Replayed(3, 5, 2))},
      {"CommitAgain", CommittedAt2().Do(Commit("A"), DoneBefore(2))},
      {"CommitDifferently", CommittedAt2()
                                .Do(Commit("A", "500"), Refusal(Said::kCommittedDifferently, 5))
                                .Do(Release("A"), Refusal(Said::kAlreadyCommitted, 5))
                                .Do(Extend("A", kLease), Refusal(Said::kAlreadyCommitted, 5))
                                .Do(Inspect(), SeenCommitted(4, 5, "a", 2))},
      {"ExpiredIsAbsent", CommittedAt2()
                              .Do(Reserve("b"), Replayed(101.9, 5, 2))
                              .Do(Commit("A"), NotReserved())
                              .Do(Reserve("c"), Fresh(102, "C", 6))},
      {"ConflictAndMismatch", Granted()
                                  .Do(Reserve("b"), Conflict(2, 5, "a", 11))
                                  .Do(Reserve("c", "other"), Mismatch(3, 5, "a", 11))
                                  .Do(Inspect(), Seen(State::kPending, 4, 5, "a", 11))},
      {"ReleaseAndGrantAnew", Granted()
                                  .Do(Release("A"), Released())
                                  .Do(Release("A"), NothingToRelease())
                                  .Do(Commit("A"), NotReserved())
                                  .Do(Reserve("b"), Fresh(3, "B", 6))
                                  .Do(Commit("A"), Superseded(6))},
      {"RegainedByRequestId", Granted().Do(Reserve("a"), Again(2, 1, "A", 5))},
      {"UnknownGrantRegained", GrantUnknown()
                                   .Do(Reserve("b"), Conflict(2, 5, "a", 11))
                                   .Do(Reserve("a"), Again(3, 1, "A", 5))},
      {"UnknownGrantThatWasNone",
       GrantUnknown().Do(Inspect(), SeenAbsent(2)).Do(Reserve("b"), Fresh(3, "B", 5))},
      {"UnknownGrantThatCameLater", GrantUnknown()
                                        .Do(Inspect(), SeenAbsent(2))
                                        .Do(Inspect(), Seen(State::kPending, 4, 5, "a", 13))},
      {"UnknownGrantLapsedAndTakenOver",
       GrantUnknown().Do(Reserve("b"), TakenOver(12, "B", 6, 5, "a"))},
      {"UnansweredGrantSeen",
       Script().Send(Reserve("a")).Do(Reserve("b"), Conflict(2, 5, "a", 11))},
      {"UnknownCommitThatTookEffect",
       Granted().Do(Commit("A"), Unknown()).Do(Reserve("b"), Replayed(4, 5, 3))},
      {"UnknownCommitThatDidNot",
       Granted().Do(Commit("A"), Unknown()).Do(Inspect(), Seen(State::kPending, 4, 5, "a", 11))},
      {"UnknownCommitSentAgain",
       Granted().Do(Commit("A"), Unknown()).Do(Commit("A"), DoneBefore(2))},
      {"UnknownCommitThatExpired",
       Granted().Do(Commit("A"), Unknown()).Do(Reserve("b"), Fresh(103, "B", 6))},
      {"UnknownRelease", Granted().Do(Release("A"), Unknown()).Do(Reserve("b"), Fresh(3, "B", 6))},
      {"UnknownExtension", Granted()
                               .Do(Extend("A", Seconds(30)), Unknown())
                               .Do(Reserve("b"), Conflict(20, 5, "a", 32))},
      {"UnknownExtensionThatWasNone", Granted()
                                          .Do(Extend("A", Seconds(30)), Unknown())
                                          .Do(Reserve("b"), TakenOver(11, "B", 6, 5, "a"))},
      {"TakeoverAfterTheLease", Granted()
                                    .Do(Inspect(), Seen(State::kLapsed, 11, 5, "a", 11))
                                    .Do(Reserve("b"), TakenOver(11, "B", 6, 5, "a"))
                                    .Do(Commit("A"), Superseded(6))
                                    .Do(Commit("B"), Done(12))
                                    .Do(Reserve("c"), Replayed(13, 6, 12))},
      {"ThirdAttempt", Granted()
                           .Do(Reserve("b"), TakenOver(11, "B", 6, 5, "a"))
                           .Do(Reserve("c"), TakenOver(21, "C", 7, 6, "b", 3))},
      {"LateCommit", Granted().Do(Commit("A"), DoneLate(12)).Do(Reserve("b"), Replayed(13, 5, 12))},
      {"ExtendedAndThenLapsed", Granted()
                                    .Do(Extend("A", Seconds(20)), Extended(22))
                                    .Do(Reserve("b"), Conflict(21.9, 5, "a", 22))
                                    .Do(Reserve("c"), TakenOver(22, "C", 6, 5, "a"))},
      {"ExtendNeverShortens", Granted()
                                  .Do(Extend("A", Seconds(1)), Extended(11))
                                  .Do(Reserve("b"), Conflict(10, 5, "a", 11))},
      {"CheckpointIsHandedOver",
       Granted()
           .Do(Save("A", Seconds(1), "half"), Extended(11))
           .Do(Inspect(), WithCheckpoint(Seen(State::kPending, 3, 5, "a", 11), "half"))
           .Do(Reserve("b"), WithCheckpoint(TakenOver(11, "B", 6, 5, "a"), "half"))},
      {"HeldAndCommittedLate", Script("held/k")
                                   .Do(Reserve("a"), Fresh(1, "A", 5))
                                   .Do(Reserve("b"), Unresolved(99'999, 5, "a", 11))
                                   .Do(Commit("A"), DoneLate(100'000))},
      {"LapsedForLongIsAbsent", Script("brief/k")
                                    .Do(Reserve("a"), Fresh(1, "A", 5))
                                    .Do(Inspect(), SeenAbsent(31))
                                    .Do(Reserve("b"), Fresh(32, "B", 6))},
      {"GraceAfterAnOutage",
       Granted().Restart().Do(Reserve("b"), Conflict(20, 5, "a", 30)).Do(Commit("A"), Done(29))},
      {"GraceIsForgottenOnceItIsOver", Granted()
                                           .Restart()
                                           .Do(Reserve("b"), Conflict(20, 5, "a", 30))
                                           .Restart()
                                           .Do(Inspect(), Seen(State::kLapsed, 31, 5, "a", 11))},
      {"Overlapping",
       [] {
         Script script;
         const auto a = script.Sent(Reserve("a")), b = script.Sent(Reserve("b"));
         script.Answered(b, Conflict(1, 5, "a", 11)).Answered(a, Fresh(1, "A", 5));
         return script;
       }()},
      {"WaiterGetsTheReleasedKey",
       [] {
         Script script = Granted();
         const auto waiter = script.Sent(Reserve("b"));
         return script.Do(Release("A"), Released()).Answered(waiter, Fresh(3, "B", 6));
       }()},
      {"RefusedDidNothing",
       Script().Do(Reserve("a"), NothingDone()).Do(Reserve("b"), Fresh(1, "B", 5))},
  };
}

class Good : public testing::TestWithParam<Case> {};

TEST_P(Good, BreaksNothing) {
  const Verdict verdict = Check(GetParam().script.recording(), TestRules(), kSteps);
  EXPECT_THAT(verdict.broken, IsEmpty()) << ToText(verdict);
  EXPECT_THAT(verdict.too_hard, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Histories, Good, testing::ValuesIn(GoodCases()), NameOf);

// ---- What it may not ----

std::vector<Case> BadCases() {
  return {
      {"DoubleGrant", Granted().Do(Reserve("b"), Fresh(2, "B", 6)), "two live grants"},
      {"DoubleGrantAfterARestart", Granted().Restart().Do(Reserve("b"), Fresh(2, "B", 6)),
       "two live grants"},
      {"DoubleGrantOfCallsThatOverlap",
       [] {
         Script script;
         const auto a = script.Sent(Reserve("a")), b = script.Sent(Reserve("b"));
         return script.Answered(a, Fresh(1, "A", 5)).Answered(b, Fresh(1, "B", 6));
       }()},
      {"TakeoverBeforeTheLeaseEnds", Granted().Do(Reserve("b"), TakenOver(10.9, "B", 6, 5, "a")),
       "two live grants"},
      {"TakeoverBeforeTheExtendedLeaseEnds",
       Granted()
           .Do(Extend("A", Seconds(20)), Extended(22))
           .Restart()
           .Do(Reserve("b"), TakenOver(21.9, "B", 6, 5, "a")),
       "two live grants"},
      {"TakeoverWithinTheGraceThatWasTold", Granted()
                                                .Restart()
                                                .Do(Reserve("b"), Conflict(20, 5, "a", 30))
                                                .Do(Reserve("c"), TakenOver(29, "C", 6, 5, "a"))},
      {"TakeoverOfAHeldKey", Script("held/k")
                                 .Do(Reserve("a"), Fresh(1, "A", 5))
                                 .Do(Reserve("b"), TakenOver(12, "B", 6, 5, "a"))},
      {"TakeoverThatTellsOfAnother", Granted().Do(Reserve("b"), TakenOver(12, "B", 6, 4, "z"))},
      {"TakeoverWithoutTheCheckpoint", Granted()
                                           .Do(Save("A", Seconds(1), "half"), Extended(11))
                                           .Do(Reserve("b"), TakenOver(11, "B", 6, 5, "a"))},
      {"OneTokenForTwo", Granted().Do(Reserve("b"), Fresh(2, "A", 5)),
       "one token for two executions"},
      {"OneFenceForTwo", Granted().Do(Release("A"), Released()).Do(Reserve("b"), Fresh(2, "B", 5)),
       "one fence for two tokens"},
      {"FenceGoesBackAfterARelease",
       Granted().Do(Release("A"), Released()).Do(Reserve("b"), Fresh(3, "B", 4)),
       "a fence went back"},
      {"FenceGoesBackAfterTheRetention",
       CommittedAt2().Restart().Do(Reserve("b"), Fresh(103, "B", 4)), "a fence went back"},
      {"FenceGoesBackBehindAnUnknownGrant",
       Script()
           .Do(Reserve("a"), Unknown())
           .Do(Reserve("b"), Conflict(2, 5, "a", 11))
           .Do(Release("A"), Unknown())
           .Do(Reserve("c"), TakenOver(12, "C", 5, 5, "a")),
       "the fence before is not lower"},

      {"LostCommit", CommittedAt2().Do(Inspect(), SeenAbsent(3)), "an acknowledged commit is lost"},
      {"LostCommitGrantedAnew", CommittedAt2().Restart().Do(Reserve("b"), Fresh(3, "B", 6)),
       "an acknowledged commit is undone"},
      {"LostCommitPendingAgain",
       CommittedAt2().Restart().Do(Inspect(), Seen(State::kPending, 3, 5, "a", 11)),
       "an acknowledged commit is undone"},
      {"LostCommitReleased",
       CommittedAt2().Do(Release("A"), Released()).Do(Inspect(), SeenAbsent(3)),
       "an acknowledged commit is lost"},
      {"LostCommitNotReserved",
       CommittedAt2().Do(Commit("A"), NotReserved()).Do(Reserve("b"), Replayed(4, 5, 2)),
       "an acknowledged commit is lost"},
      {"ReplayedOfAnUnknownCommitThatVanishes",
       Granted()
           .Do(Commit("A"), Unknown())
           .Do(Reserve("b"), Replayed(4, 5, 3))
           .Restart()
           .Do(Inspect(), Seen(State::kPending, 5, 5, "a", 11)),
       "an acknowledged commit is undone"},
      {"OtherBytesThanCommitted",
       Granted()
           .Do(Commit("A", "500"), Unknown())
           .Do(Commit("A", "200"), Done(3))
           .Do(Reserve("b"), Replayed(4, 5, 3, "500")),
       "other bytes are replayed than were committed"},
      {"ReplayOfWhatNobodyCommitted", CommittedAt2().Do(Reserve("b"), Replayed(3, 5, 2, "404")),
       "what is replayed was never committed"},
      {"ReplayOfARefusedCommit",
       Granted().Do(Commit("A"), NothingDone()).Do(Reserve("b"), Replayed(3, 5, 2)),
       "what is replayed was never committed"},
      {"ReplayBeforeTheCommitWasSent",
       Granted().Do(Reserve("b"), Replayed(2, 5, 2)).Do(Commit("A"), Done(3)),
       "what is replayed was never committed"},
      {"ReplayPastTheRetention", CommittedAt2().Do(Reserve("b"), Replayed(102, 5, 2)),
       "a result is replayed past its retention"},
      {"ReplayComesBack",
       CommittedAt2()
           .Do(Inspect(), SeenAbsent(102))
           .Restart()
           .Do(Inspect(), SeenCommitted(101, 5, "a", 2)),
       ""},
      {"RetentionSlides", CommittedAt2().Do(Reserve("b"), Replayed(3, 5, 3)),
       "an acknowledged commit is undone"},
      {"RetentionIsNotWhatWasAskedFor",
       [] {
         Answer answer = Done(2);
         answer.expire_time -= 1;
         return Granted().Do(Commit("A"), answer);
       }()},
      {"MismatchThatMatches", Granted().Do(Reserve("b"), Mismatch(2, 5, "a", 11))},
      {"ReplayOfAnotherFingerprint", CommittedAt2().Do(Reserve("b", "other"), Replayed(3, 5, 2))},
      {"CommittedTwice", CommittedAt2().Do(Commit("A", "500"), Done(3)),
       "an acknowledged commit is undone"},
      {"CommitNotLateButLapsed", Granted().Do(Commit("A"), Done(12))},
      {"CommitLateButInTime", Granted().Do(Commit("A"), DoneLate(3))},

      {"CommitOfASupersededHolder",
       Granted().Do(Reserve("b"), TakenOver(11, "B", 6, 5, "a")).Do(Commit("A"), DoneLate(12)),
       "a superseded token succeeded"},
      {"ReleaseByASupersededHolder",
       Granted().Do(Reserve("b"), TakenOver(11, "B", 6, 5, "a")).Do(Release("A"), Released()),
       "a superseded token succeeded"},
      {"ExtensionByASupersededHolder",
       Granted()
           .Do(Reserve("b"), TakenOver(11, "B", 6, 5, "a"))
           .Do(Extend("A", kLease), Extended(22)),
       "a superseded token succeeded"},
      {"CommitWithAStrangersToken", Granted().Do(Commit("Z"), Done(2))},
      {"HolderIsSuperseded", Granted().Do(Commit("A"), Superseded(5)), ""},

      {"TokenWorksAfterItsRelease", Granted().Do(Release("A"), Released()).Do(Commit("A"), Done(3)),
       "a released token succeeded"},
      {"ReleaseIsForgotten",
       Granted().Do(Release("A"), Released()).Restart().Do(Reserve("b"), Conflict(3, 5, "a", 11)),
       "a released grant came back"},
      {"ReplayAfterARelease",
       Granted()
           .Do(Release("A"), Released())
           .Do(Commit("A"), Unknown())
           .Do(Reserve("b"), Replayed(4, 5, 3)),
       "a released grant came back"},
      {"RegainedAfterARelease",
       Granted().Do(Release("A"), Released()).Do(Reserve("a"), Again(3, 1, "A", 5)),
       "a released token succeeded"},
      {"NothingToReleaseWhileHeld",
       Granted().Do(Release("A"), NothingToRelease()).Do(Inspect(), SeenAbsent(3)),
       "an acknowledged grant is lost"},

      {"LostGrant", Granted().Restart().Do(Inspect(), SeenAbsent(3)),
       "an acknowledged grant is lost"},
      {"LostGrantNotReserved",
       Granted().Restart().Do(Extend("A", kLease), NotReserved()).Do(Inspect(), SeenAbsent(4)),
       "an acknowledged grant is lost"},
      {"LostExtension",
       Granted()
           .Do(Extend("A", Seconds(20)), Extended(22))
           .Restart()
           .Do(Inspect(), Seen(State::kLapsed, 12, 5, "a", 11)),
       "a lease lapsed before its acknowledged end"},
      {"LostExtensionStillPending", Granted()
                                        .Do(Extend("A", Seconds(20)), Extended(22))
                                        .Restart()
                                        .Do(Inspect(), Seen(State::kPending, 10, 5, "a", 11))},
      {"LapsedTooEarly", Granted().Do(Inspect(), Seen(State::kLapsed, 10, 5, "a", 11)),
       "a lease lapsed before its acknowledged end"},
      {"LostCheckpoint", Granted()
                             .Do(Save("A", Seconds(1), "half"), Extended(11))
                             .Restart()
                             .Do(Inspect(), Seen(State::kPending, 3, 5, "a", 11))},
      {"NotRegainedByRequestId", Granted().Do(Reserve("a"), Conflict(2, 5, "a", 11)),
       "the holder did not regain its grant by its request_id"},
      {"RegainedForAShorterTime", Granted().Do(Reserve("a"), Again(2, 0.5, "A", 5)), ""},
      {"GrantForLessThanAskedFor",
       [] {
         Answer answer = Fresh(1, "A", 5);
         answer.lease_end -= 1;
         return Script().Do(Reserve("a"), answer);
       }()},
      {"ExtendedForLessThanAskedFor", Granted()
                                          .Do(Inspect(), Seen(State::kPending, 3, 5, "a", 11))
                                          .Do(Extend("A", Seconds(20)), Extended(22))},
      {"ExtensionShortens", Granted().Do(Extend("A", Seconds(1)), Extended(10))},

      {"ConflictWithNobody", Script().Do(Reserve("b"), Conflict(2, 5, "a", 11))},
      {"ConflictAfterTheLease", Granted().Do(Reserve("b"), Conflict(11, 5, "a", 11))},
      {"ConflictAfterTheLeaseWithoutAnOutage",
       Granted().Do(Reserve("b"), Conflict(12, 5, "a", 20))},
      {"ConflictWithARefusedGrant",
       Script().Do(Reserve("a"), NothingDone()).Do(Reserve("b"), Conflict(2, 5, "a", 11))},
      {"UnknownGrantThatVanishes", GrantUnknown()
                                       .Do(Reserve("b"), Conflict(2, 5, "a", 11))
                                       .Restart()
                                       .Do(Inspect(), SeenAbsent(3))},
      {"UnknownGrantAfterItsServerDied", GrantUnknown()
                                             .Restart()
                                             .Do(Inspect(), SeenAbsent(2))
                                             .Do(Inspect(), Seen(State::kPending, 4, 5, "a", 13))},
      {"UnknownGrantWithoutAServer", Script()
                                         .Stop()
                                         .Do(Reserve("a"), Unknown())
                                         .Start()
                                         .Do(Inspect(), Seen(State::kPending, 4, 5, "a", 13))},
      {"ReadOfThePast",
       Granted().Do(Release("A"), Released()).Do(Inspect(), Seen(State::kPending, 3, 5, "a", 11)),
       "a released grant came back"},
      {"ReadsInTwoOrders",
       [] {
         // One sees the release, and a later one doesn't, while it is on its way.
         Script script = Granted();
         const auto release = script.Sent(Release("A"));
         return script.Do(Inspect(), SeenAbsent(3))
             .Do(Inspect(), Seen(State::kPending, 4, 5, "a", 11))
             .Answered(release, Released());
       }()},
      {"LapsedForLongIsStillThere", Script("brief/k")
                                        .Do(Reserve("a"), Fresh(1, "A", 5))
                                        .Do(Inspect(), Seen(State::kLapsed, 31, 5, "a", 11))},
      {"LapsedForLongComesBack", Script("brief/k")
                                     .Do(Reserve("a"), Fresh(1, "A", 5))
                                     .Do(Inspect(), SeenAbsent(31))
                                     .Restart()
                                     .Do(Inspect(), Seen(State::kLapsed, 32, 5, "a", 11))},
      {"AttemptIsCountedWrong", Granted().Do(Reserve("b"), TakenOver(11, "B", 6, 5, "a", 3))},
  };
}

class Bad : public testing::TestWithParam<Case> {};

TEST_P(Bad, IsObjectedTo) {
  const Verdict verdict = Check(GetParam().script.recording(), TestRules(), kSteps);
  EXPECT_FALSE(verdict.broken.empty());
}

TEST_P(Bad, FitsIntoNoOrder) {
  EXPECT_EQ(OrderOf(GetParam().script.recording()).order, Order::kNone);
}

TEST_P(Bad, IsNamed) {
  const std::vector<std::string> broken = CheckInvariants(EventsOf(GetParam().script.recording()));
  if (GetParam().broken.empty()) {
    EXPECT_THAT(broken, IsEmpty());
  } else {
    EXPECT_THAT(broken, Contains(HasSubstr(GetParam().broken)));
  }
}

INSTANTIATE_TEST_SUITE_P(Histories, Bad, testing::ValuesIn(BadCases()), NameOf);

// ---- Over all keys ----

TEST(Checker, TimeGoesForwardOverAllKeys) {
  Recording run = Script("regrant/a").Do(Inspect(), SeenAbsent(5)).recording();
  Call other = Script("regrant/b").Do(Inspect(), SeenAbsent(4)).recording().calls[0];
  other.id = 1;
  other.sent = 10;
  other.answered = 11;
  run.calls.push_back(other);
  EXPECT_THAT(Check(run, TestRules()).broken, Contains(HasSubstr("time went back")));
  run.calls[1].answer.server_time = Seconds(5);
  EXPECT_THAT(Check(run, TestRules()).broken, IsEmpty());
}

TEST(Checker, OperationsOfABatchRunInTheirOrder) {
  const auto history = [](std::optional<std::uint64_t> after) {
    Script script;
    const auto reserve = script.Sent(Reserve("a"));
    Call inspect = Inspect();
    inspect.after = after;
    const auto seen = script.Sent(inspect);
    script.Answered(reserve, Fresh(1, "A", 5)).Answered(seen, SeenAbsent(1));
    return script.recording();
  };
  EXPECT_EQ(OrderOf(history(std::nullopt)).order, Order::kFound);
  EXPECT_EQ(OrderOf(history(0)).order, Order::kNone);
}

// Calls without an answer in great number: their effects could come in any order.
TEST(Checker, GivesUpOnWhatIsTooHard) {
  Script script;
  for (int i = 0; i < 40; ++i) script.Send(Reserve("u" + std::to_string(i)));
  script.Do(Inspect(), Seen(State::kPending, 50, 1'000, "nobody", 60));
  const Verdict verdict = Check(script.recording(), TestRules(), 1'000);
  EXPECT_THAT(verdict.too_hard, Contains("regrant/k"));
}

TEST(Checker, ALongHistoryTakesNoLongTime) {
  Script script;
  for (int i = 0; i < 500; ++i) {
    const std::string token = "T" + std::to_string(i);
    script.Do(Reserve(token), Fresh(i + 1, token, i + 1))
        .Do(Reserve("x"), Conflict(i + 1.5, i + 1, token, i + 11))
        .Do(Release(token), Unknown())
        .Do(Release(token), i % 2 == 0 ? NothingToRelease() : Released());
  }
  const Verdict verdict = Check(script.recording(), TestRules(), kSteps);
  EXPECT_THAT(verdict.broken, IsEmpty()) << ToText(verdict);
  EXPECT_THAT(verdict.too_hard, IsEmpty());
}

// A history that a failing run has kept: ONCED_FAULT_HISTORY=FILE.
TEST(Checker, KeptHistoryBreaksNothing) {
  const char* path = std::getenv("ONCED_FAULT_HISTORY");
  if (path == nullptr) GTEST_SKIP() << "ONCED_FAULT_HISTORY names no file";
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << path;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Verdict verdict = Check(FromText(text), LoadRules());
  EXPECT_THAT(verdict.broken, IsEmpty()) << ToText(verdict);
  EXPECT_THAT(verdict.too_hard, IsEmpty());
}

}  // namespace
}  // namespace onced::fault
