// The checker on histories made by hand: each bad one must be noticed, by the
// rule that it breaks, and each good one must pass.
#include "tests/sim/checker.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace onced::sim {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);
absl::Time At(int seconds) { return kStart + absl::Seconds(seconds); }

// Calls of one key, one after the other; times are seconds from the start.
class Story {
 public:
  Story& Fresh(int at, const std::string& token, std::int64_t fence, int lease_end,
               const std::string& request_id = "") {
    Call& call = Add(at, Op::kReserve, Said::kFresh, request_id.empty() ? token : request_id);
    call.seen = Seen::kPending;
    call.fence = fence;
    call.granted_token = token;
    call.lease_end = At(lease_end);
    return *this;
  }
  Story& Replayed(int at, std::int64_t fence, const std::string& bytes, int commit, int expire) {
    Call& call = Add(at, Op::kReserve, Said::kReplayed, "reader");
    call.seen = Seen::kCommitted;
    call.fence = fence;
    call.replayed = bytes;
    call.commit_time = At(commit);
    call.expire_time = At(expire);
    return *this;
  }
  Story& Verdict(int at, Said said, Seen seen, std::int64_t fence,
                 const std::string& request_id = "reader") {
    Call& call = Add(at, Op::kReserve, said, request_id);
    call.seen = seen;
    call.fence = fence;
    return *this;
  }
  Story& Commit(int at, const std::string& token, const std::string& result, int expire,
                Said said = Said::kCommitted) {
    Call& call = Add(at, Op::kCommit, said);
    call.token = token;
    call.result = result;
    call.commit_time = At(at);
    call.expire_time = At(expire);
    return *this;
  }
  Story& Settle(int at, Op op, const std::string& token, Said said, int lease_end = 0) {
    Call& call = Add(at, op, said);
    call.token = token;
    call.lease_end = At(lease_end);
    return *this;
  }
  // An operator's, by fence.
  Story& Resolve(int at, std::int64_t fence, Said said, const std::string& result = "",
                 int expire = 0, bool force = false) {
    Call& call = Add(at, Op::kResolve, said);
    call.named_fence = fence;
    call.force = force;
    call.result = result;
    call.commit_time = At(at);
    call.expire_time = At(expire);
    return *this;
  }
  Story& Evict(int at, std::int64_t fence, Said said, bool force = false) {
    Call& call = Add(at, Op::kEvict, said);
    call.named_fence = fence;
    call.force = force;
    return *this;
  }
  Story& Look(int at, Seen seen, std::int64_t fence = 0) {
    Call& call = Add(at, Op::kInspect, Said::kInspected);
    call.seen = seen;
    if (seen != Seen::kAbsent) call.fence = fence;
    return *this;
  }
  // What the last call was told of the record.
  Story& Saw(Seen seen, std::int64_t fence) {
    history_.back().seen = seen;
    history_.back().fence = fence;
    return *this;
  }
  // What the last call told of the key lasts so long.
  Story& Until(int seconds) {
    history_.back().seen_until = At(seconds);
    return *this;
  }
  // The last call was still on its way when the next one was sent.
  Story& Meanwhile() {
    history_.back().answered += 2;
    return *this;
  }

  std::vector<std::string> Check(bool hold = false) const {
    return sim::Check(history_,
                      {{"ns/key", {.hold = hold, .lapsed_retention = absl::Seconds(10)}}});
  }

 private:
  Call& Add(int at, Op op, Said said, const std::string& request_id = "") {
    Call call{.op = op, .key = "ns/key", .sent = 2 * history_.size()};
    call.answered = said == Said::kNothing ? UINT64_MAX : call.sent + 1;
    call.said = said;
    call.server_time = At(at);
    call.request_id = request_id;
    history_.push_back(call);
    return history_.back();
  }

  History history_;
};

struct Row {
  const char* name;
  Story story;
  std::string broken;  // A part of what must be said; empty if all is well.
  bool hold = false;
};

void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

class CheckerTest : public testing::TestWithParam<Row> {};

TEST_P(CheckerTest, NoticesWhatIsBrokenAndNothingElse) {
  const std::vector<std::string> broken = GetParam().story.Check(GetParam().hold);
  const std::string all = absl::StrJoin(broken, "\n");
  if (GetParam().broken.empty()) {
    EXPECT_EQ(all, "");
  } else {
    EXPECT_NE(all.find(": " + GetParam().broken + "\n"), std::string::npos) << all;
  }
}

const Row kGood[] = {
    {"Nothing", Story()},
    {"SeenUntilItsEnd",
     Story().Verdict(1, Said::kConflict, Seen::kPending, 10).Until(9).Look(9, Seen::kAbsent)},
    {"SeenAndPerhapsReleased", Story()
                                   .Fresh(1, "t", 10, 9)
                                   .Verdict(2, Said::kConflict, Seen::kPending, 10)
                                   .Until(9)
                                   .Settle(3, Op::kRelease, "t", Said::kUnknown)
                                   .Look(4, Seen::kAbsent)},
    {"ALife", Story()
                  .Look(0, Seen::kAbsent)
                  .Fresh(1, "t", 10, 9)
                  .Verdict(2, Said::kConflict, Seen::kPending, 10)
                  .Settle(3, Op::kExtend, "t", Said::kExtended, 12)
                  .Commit(11, "t", "bytes", 20)
                  .Replayed(19, 10, "bytes", 11, 20)
                  .Fresh(20, "u", 11, 30)},
    {"ARegain", Story().Fresh(1, "t", 10, 9, "r").Fresh(2, "t", 10, 9, "r")},
    {"ATakeover", Story()
                      .Fresh(1, "t", 10, 9)
                      .Fresh(9, "u", 11, 20)
                      .Settle(10, Op::kCommit, "t", Said::kSuperseded)},
    {"ARelease", Story()
                     .Fresh(1, "t", 10, 9)
                     .Settle(2, Op::kRelease, "t", Said::kReleased)
                     .Look(2, Seen::kAbsent)
                     .Fresh(2, "u", 11, 9)},
    {"AReleaseThatMayHaveWorked", Story()
                                      .Fresh(1, "t", 10, 9)
                                      .Settle(2, Op::kRelease, "t", Said::kUnknown)
                                      .Fresh(3, "u", 11, 9)},
    {"ACommitThatMayHaveWorked", Story()
                                     .Fresh(1, "t", 10, 9)
                                     .Commit(2, "t", "bytes", 20, Said::kNothing)
                                     .Replayed(3, 10, "bytes", 2, 20)
                                     .Fresh(20, "u", 11, 30)},
    {"ACommitThatDidNot", Story()
                              .Fresh(1, "t", 10, 9)
                              .Commit(2, "t", "bytes", 20, Said::kUnknown)
                              .Look(3, Seen::kPending, 10)
                              .Fresh(9, "u", 11, 20)},
    {"ALateCommit", Story()
                        .Fresh(1, "t", 10, 9)
                        .Look(10, Seen::kLapsed, 10)
                        .Commit(12, "t", "bytes", 20)
                        .Replayed(13, 10, "bytes", 12, 20)},
    {"LapsedAndForgotten",
     Story().Fresh(1, "t", 10, 9).Look(18, Seen::kLapsed, 10).Look(19, Seen::kAbsent)},
    {"GoneAfterATakeoverAndARelease", Story()
                                          .Fresh(1, "t", 10, 9)
                                          .Fresh(9, "u", 11, 20)
                                          .Settle(10, Op::kRelease, "u", Said::kReleased)
                                          .Look(11, Seen::kAbsent)},
    {"Held",
     Story()
         .Fresh(1, "t", 10, 9)
         .Verdict(99, Said::kUnresolved, Seen::kLapsed, 10)
         .Settle(100, Op::kRelease, "t", Said::kReleased)
         .Fresh(101, "u", 11, 110),
     "", true},
    {"HeldAndResolvedAsCommitted",
     Story()
         .Fresh(1, "t", 10, 9)
         .Resolve(50, 10, Said::kCommitted, "x", 60)
         .Replayed(51, 10, "x", 50, 60)
         .Settle(52, Op::kCommit, "t", Said::kCommittedDifferently)
         .Fresh(60, "u", 11, 70),
     "", true},
    {"HeldAndResolvedAsReleased",
     Story().Fresh(1, "t", 10, 9).Resolve(50, 10, Said::kReleased).Fresh(51, "u", 11, 60), "",
     true},
    {"ResolvedByForce", Story()
                            .Fresh(1, "t", 10, 9)
                            .Resolve(2, 10, Said::kReleased, "", 0, true)
                            .Settle(3, Op::kCommit, "t", Said::kNotReserved)
                            .Fresh(4, "u", 11, 9)},
    {"ACommitEvicted", Story()
                           .Fresh(1, "t", 10, 9)
                           .Commit(2, "t", "x", 20)
                           .Evict(3, 10, Said::kEvicted)
                           .Fresh(4, "u", 11, 9)},
    {"AGrantThatNobodyWasToldOfEvicted", Story()
                                             .Fresh(1, "t", 10, 9)
                                             .Look(10, Seen::kPending, 11)
                                             .Until(20)
                                             .Evict(11, 11, Said::kEvicted, true)
                                             .Look(12, Seen::kAbsent)},
    {"AtTheSameTimeInAnyOrder", Story().Fresh(1, "t", 10, 9).Meanwhile().Look(1, Seen::kAbsent)},
};
INSTANTIATE_TEST_SUITE_P(Good, CheckerTest, testing::ValuesIn(kGood),
                         [](const auto& row) { return row.param.name; });

const Row kBad[] = {
    {"DoubleGrant", Story().Fresh(1, "t", 10, 9).Fresh(8, "u", 11, 20), "two live grants"},
    {"DoubleGrantAtOnce", Story().Fresh(1, "t", 10, 9).Meanwhile().Fresh(1, "u", 11, 9),
     "two live grants"},
    {"DoubleGrantAfterAnExtension",
     Story()
         .Fresh(1, "t", 10, 9)
         .Settle(8, Op::kExtend, "t", Said::kExtended, 15)
         .Fresh(14, "u", 11, 20),
     "two live grants"},
    {"DoubleGrantDespiteACommit",
     Story().Fresh(1, "t", 10, 9).Commit(2, "t", "bytes", 20).Fresh(19, "u", 11, 30),
     "an acknowledged commit is undone"},
    {"OneTokenForTwo", Story().Fresh(1, "t", 10, 9, "r").Fresh(2, "t", 10, 9, "s"),
     "two callers were given one token"},
    {"TakeoverOfAHeldOne", Story().Fresh(1, "t", 10, 9).Fresh(99, "u", 11, 110),
     "a held grant was taken over", true},
    {"LostGrant", Story().Fresh(1, "t", 10, 9).Look(2, Seen::kAbsent),
     "an acknowledged grant is lost"},
    {"LostLapsedGrant", Story().Fresh(1, "t", 10, 9).Look(18, Seen::kAbsent),
     "an acknowledged grant is lost"},
    {"LostHeldGrant", Story().Fresh(1, "t", 10, 9).Look(999, Seen::kAbsent),
     "an acknowledged grant is lost", true},
    {"LostCommit", Story().Fresh(1, "t", 10, 9).Commit(2, "t", "x", 20).Look(3, Seen::kAbsent),
     "an acknowledged commit is lost"},
    {"UndoneCommit",
     Story().Fresh(1, "t", 10, 9).Commit(2, "t", "x", 20).Look(3, Seen::kPending, 10),
     "an acknowledged commit is undone"},
    {"CommitUndoneByARelease",
     Story()
         .Fresh(1, "t", 10, 9)
         .Commit(2, "t", "x", 20)
         .Settle(3, Op::kRelease, "t", Said::kReleased),
     "an acknowledged commit is undone"},
    {"ReplayThatWasNotDurable",
     Story()
         .Fresh(1, "t", 10, 9)
         .Commit(2, "t", "x", 20, Said::kUnknown)
         .Replayed(3, 10, "x", 2, 20)
         .Look(4, Seen::kPending, 10),
     "an acknowledged commit is undone"},
    {"OtherBytes", Story().Fresh(1, "t", 10, 9).Commit(2, "t", "x", 20).Replayed(3, 10, "y", 2, 20),
     "other bytes are replayed than were committed"},
    {"BytesOfNobody", Story().Fresh(1, "t", 10, 9).Replayed(3, 10, "y", 2, 20),
     "what is replayed was never committed"},
    {"OtherBytesTheSecondTime",
     Story()
         .Fresh(1, "t", 10, 9)
         .Commit(2, "t", "x", 20, Said::kNothing)
         .Commit(2, "t", "y", 20, Said::kNothing)
         .Replayed(3, 10, "x", 2, 20)
         .Replayed(4, 10, "y", 2, 20),
     "two replays of one commit differ"},
    {"RetentionThatSlides",
     Story().Fresh(1, "t", 10, 9).Commit(2, "t", "x", 20).Replayed(3, 10, "x", 2, 21),
     "a commit changed its times"},
    {"ReplayPastRetention",
     Story().Fresh(1, "t", 10, 9).Commit(2, "t", "x", 20).Replayed(20, 10, "x", 2, 20),
     "a result is replayed past its retention"},
    {"FenceGoesBack", Story().Fresh(1, "t", 10, 2).Fresh(3, "u", 9, 20), "a fence went back"},
    {"FenceTwice", Story().Fresh(1, "t", 10, 2).Fresh(3, "u", 10, 20), "one fence for two tokens"},
    {"FenceOfAnOldGrant",
     Story()
         .Fresh(1, "t", 10, 2)
         .Fresh(3, "u", 11, 20)
         .Verdict(21, Said::kConflict, Seen::kPending, 10),
     "an older grant is seen again"},
    {"SupersededCommits",
     Story().Fresh(1, "t", 10, 2).Fresh(3, "u", 11, 20).Commit(4, "t", "x", 20),
     "a superseded token succeeded"},
    {"SupersededExtends",
     Story()
         .Fresh(1, "t", 10, 2)
         .Fresh(3, "u", 11, 20)
         .Settle(4, Op::kExtend, "t", Said::kExtended, 30),
     "a superseded token succeeded"},
    {"SupersededReleases",
     Story()
         .Fresh(1, "t", 10, 2)
         .Fresh(3, "u", 11, 20)
         .Settle(4, Op::kRelease, "t", Said::kReleased),
     "a superseded token succeeded"},
    {"ReleaseUndone",
     Story()
         .Fresh(1, "t", 10, 9)
         .Settle(2, Op::kRelease, "t", Said::kReleased)
         .Look(3, Seen::kPending, 10),
     "a released grant came back"},
    {"CommitAfterARelease",
     Story()
         .Fresh(1, "t", 10, 9)
         .Settle(2, Op::kRelease, "t", Said::kReleased)
         .Commit(3, "t", "x", 20),
     "a released token succeeded"},
    {"EarlyLapse", Story().Fresh(1, "t", 10, 9).Verdict(8, Said::kUnresolved, Seen::kLapsed, 10),
     "a lease lapsed before its acknowledged end", true},
    {"ExtensionForgotten",
     Story()
         .Fresh(1, "t", 10, 9)
         .Settle(2, Op::kExtend, "t", Said::kExtended, 20)
         .Look(10, Seen::kLapsed, 10),
     "a lease lapsed before its acknowledged end"},
    {"OwnRequestIdRefused",
     Story().Fresh(1, "t", 10, 9, "r").Verdict(2, Said::kConflict, Seen::kPending, 10, "r"),
     "the holder did not regain its grant by its request_id"},
    {"HolderSuperseded",
     Story().Fresh(1, "t", 10, 9).Settle(2, Op::kCommit, "t", Said::kSuperseded),
     "the holder is superseded while its lease runs"},
    {"BackFromTheDead",
     Story()
         .Fresh(1, "t", 10, 2)
         .Look(50, Seen::kAbsent)
         .Verdict(51, Said::kConflict, Seen::kPending, 10),
     "what was gone came back"},
    {"SeenGrantIsGone",
     Story().Verdict(1, Said::kConflict, Seen::kPending, 10).Until(9).Look(2, Seen::kAbsent),
     "what was seen is gone"},
    {"SeenGrantIsAnothers",
     Story().Verdict(1, Said::kMismatch, Seen::kPending, 10).Until(9).Fresh(2, "u", 11, 20),
     "what was seen is gone"},
    {"SeenCommitIsGone", Story().Replayed(1, 10, "x", 1, 20).Until(20).Look(2, Seen::kAbsent),
     "what was seen is gone"},
    {"SeenCommitIsUndone",
     Story()
         .Fresh(1, "t", 10, 9)
         .Settle(2, Op::kRelease, "t", Said::kAlreadyCommitted)
         .Commit(3, "t", "x", 20, Said::kNothing)
         .Look(4, Seen::kCommitted, 10)
         .Look(5, Seen::kPending, 10),
     "a commit that was seen is undone"},
    {"SeenExtensionIsUndone",
     Story()
         .Fresh(1, "t", 10, 9)
         .Settle(2, Op::kExtend, "t", Said::kNothing)
         .Look(3, Seen::kPending, 10)
         .Until(20)
         .Look(10, Seen::kLapsed, 10),
     "a lease lapsed before its end that was seen"},
    {"ResolvedWithoutForce", Story().Fresh(1, "t", 10, 9).Resolve(8, 10, Said::kReleased),
     "a running lease was settled without force"},
    {"EvictedWithoutForce", Story().Fresh(1, "t", 10, 9).Evict(8, 10, Said::kEvicted),
     "a running lease was settled without force"},
    {"EvictedByAnotherFence",
     Story().Fresh(1, "t", 10, 9).Evict(2, 9, Said::kEvicted, true).Look(3, Seen::kAbsent),
     "an acknowledged grant is lost"},
    {"FenceRefusedThatIsRight",
     Story().Fresh(1, "t", 10, 9).Evict(2, 10, Said::kFenceMismatch).Saw(Seen::kPending, 10),
     "the fence was the record's"},
    {"EvictionUndone",
     Story()
         .Fresh(1, "t", 10, 9)
         .Commit(2, "t", "x", 20)
         .Evict(3, 10, Said::kEvicted)
         .Replayed(4, 10, "x", 2, 20),
     "a released grant came back"},
    {"FenceGoesBackAfterAnEviction",
     Story().Fresh(1, "t", 10, 9).Evict(2, 10, Said::kEvicted, true).Fresh(3, "u", 9, 20),
     "a fence went back"},
    {"ResolvedWithOtherBytes",
     Story()
         .Fresh(1, "t", 10, 9)
         .Resolve(10, 10, Said::kCommitted, "x", 20)
         .Replayed(11, 10, "y", 10, 20),
     "other bytes are replayed than were committed"},
    {"ResolvedTwice",
     Story()
         .Fresh(1, "t", 10, 9)
         .Resolve(10, 10, Said::kCommitted, "x", 20)
         .Resolve(11, 10, Said::kReleased),
     "an acknowledged commit is undone"},
    {"TimeGoesBack", Story().Look(2, Seen::kAbsent).Look(1, Seen::kAbsent), "time went back"},
};
INSTANTIATE_TEST_SUITE_P(Bad, CheckerTest, testing::ValuesIn(kBad),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace onced::sim
