// What is answered when: at once where a key has nothing that isn't durable, else
// when the store tells; and with what, if that is a failure, or never comes.
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/shard/group_fixture.h"

namespace onced::shard_test {
namespace {

// How the key's last change is found by the drain of the call.
enum class Found {
  kSettled,    // Durable.
  kUndurable,  // Of an earlier drain that was not told yet.
  kSameDrain,  // It comes with the call, before it.
};

class Bench : public GroupTest {
 public:
  using GroupTest::Advance;
  using GroupTest::Commit;
  using GroupTest::drain_;
  using GroupTest::Execute;
  using GroupTest::Extend;
  using GroupTest::Inspect;
  using GroupTest::now_;
  using GroupTest::Release;
  using GroupTest::Reserve;
  using GroupTest::store_;
  using GroupTest::Submit;

  // Of the record that the next drain will find.
  Token TokenOf(const std::string& key = "key") {
    Token token;
    auto work = std::make_unique<UnitOfWork>();
    const auto slot = work->Want({static_cast<std::uint32_t>(key.size() % 4)}, {name_space_, key});
    store_->Run(
        std::move(work), [&](UnitOfWork& loaded) { token = loaded.Find(slot)->token; },
        [](const absl::Status&) {});  // Ignored: nothing is changed.
    return token;
  }
};

std::string NameOf(const Reply& reply) {
  struct Namer {
    std::string operator()(const Fresh&) const { return "FRESH"; }
    std::string operator()(const Replayed&) const { return "REPLAYED"; }
    std::string operator()(const Conflict&) const { return "CONFLICT"; }
    std::string operator()(const Mismatch&) const { return "MISMATCH"; }
    std::string operator()(const Unresolved&) const { return "UNRESOLVED"; }
    std::string operator()(const Parked&) const { return "parked"; }
    std::string operator()(const CommitDone& done) const {
      return done.already_committed ? "already committed" : "committed";
    }
    std::string operator()(const ReleaseDone& done) const {
      return done.released ? "released" : "nothing to release";
    }
    std::string operator()(const ExtendDone&) const { return "extended"; }
    std::string operator()(const Inspected& seen) const {
      return testing::PrintToString(seen.state);
    }
    std::string operator()(const ResolveDone&) const { return "resolved"; }
    std::string operator()(const EvictDone&) const { return "evicted"; }
    std::string operator()(const Refused& refused) const {
      return testing::PrintToString(refused.reason);
    }
  };
  return std::visit(Namer{}, reply);
}
std::string AnswerOf(const Call& call) {
  return call->answers == 0 ? "none" : NameOf(call->answer->reply);
}

// ---- Steps ----

using Step = std::function<void(Bench&)>;
using Asks = std::function<Call(Bench&)>;

const Step kNothing = [](Bench&) {};
const Step kGrants = [](Bench& b) { b.Reserve({.request_id = "holder"}); };
const Step kCommits = [](Bench& b) { b.Commit(b.TokenOf()); };
const Step kReleases = [](Bench& b) { b.Release(b.TokenOf()); };
const Step kExtends = [](Bench& b) { b.Extend(b.TokenOf(), absl::Minutes(1)); };
const Step kTakesOver = [](Bench& b) {
  b.Advance(absl::Seconds(10));
  b.Reserve({.request_id = "taker"});
};
Step Then(Step first, Step second) {
  return [first = std::move(first), second = std::move(second)](Bench& b) {
    first(b);
    b.Execute();
    second(b);
  };
}

const Asks kReserve = [](Bench& b) { return b.Reserve({.request_id = "another"}); };
const Asks kRegain = [](Bench& b) { return b.Reserve({.request_id = "holder"}); };
const Asks kMismatch = [](Bench& b) {
  return b.Reserve({.request_id = "another", .fingerprint = "other"});
};
const Asks kCommit = [](Bench& b) { return b.Commit(b.TokenOf()); };
const Asks kCommitOther = [](Bench& b) { return b.Commit(b.TokenOf(), "other"); };
const Asks kCommitWrong = [](Bench& b) { return b.Commit(Token{}); };
const Asks kRelease = [](Bench& b) { return b.Release(b.TokenOf()); };
const Asks kReleaseWrong = [](Bench& b) { return b.Release(Token{}); };
const Asks kExtend = [](Bench& b) { return b.Extend(b.TokenOf(), absl::Minutes(1)); };
const Asks kInspect = [](Bench& b) { return b.Inspect(); };
const Asks kTooLate = [](Bench& b) { return b.Submit("key", InspectOp{}, b.now_); };
const Asks kWhileDraining = [](Bench& b) {
  b.drain_.draining = true;
  return b.Reserve({.request_id = "another"});
};
const Asks kWithoutSpace = [](Bench& b) {
  b.store_->SetLowOnSpace(true);
  return b.Reserve({.request_id = "another"});
};
const Asks kUnreadable = [](Bench& b) {
  b.store_->FailReads({"ns", "key"}, absl::DataLossError("fake"));
  return b.Inspect();
};

// ---- The table ----

struct Row {
  const char* name;
  Step before;  // Durable in any case.
  Found found;
  Step change;  // As `found` says.
  Asks asks;
  const char* reply;
  // With which it is answered if the write fails; nullptr: it is answered at once.
  const char* failed;
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

// Each row on a disk that is slow, one that fails, and one that hangs until a crash.
class Answered : public Bench, public testing::WithParamInterface<Row> {
 protected:
  // Executes all up to the drain of the call, in which another key is granted too.
  void Ask() {
    const Row& row = GetParam();
    row.before(*this);
    Execute();
    if (row.found == Found::kSettled) Change();
    store_->HoldDurability();
    if (fails_) store_->FailWrite(1, FaultyStore::Landing::kIsLost);
    if (row.found == Found::kUndurable) Change();
    if (row.found == Found::kSameDrain) row.change(*this);
    const Call other = Reserve({.key = "other", .request_id = "elsewhere"});
    call_ = row.asks(*this);
    const bool grants_other = !drain_.draining && !store_->LowOnSpace();
    Execute();
    EXPECT_EQ(AnswerOf(call_), AtOnce() ? row.reply : "none") << "while the disk hangs";
    if (grants_other) {
      EXPECT_EQ(AnswerOf(other), "none") << "while the disk hangs";
    }
  }
  void Change() {
    GetParam().change(*this);
    Execute();
  }
  bool AtOnce() const { return GetParam().failed == nullptr; }

  bool fails_ = false;
  Call call_;
};

TEST_P(Answered, OfADiskThatIsSlow) {
  Ask();
  store_->ReleaseDurability();
  EXPECT_EQ(AnswerOf(call_), GetParam().reply);
  EXPECT_EQ(call_->answer->server_time, now_);
  EXPECT_FALSE(group_->failed());
}

TEST_P(Answered, OfADiskThatFails) {
  fails_ = true;
  Ask();
  const bool writes = store_->held() > 0;  // Not where all is settled and nothing is granted.
  store_->ReleaseDurability();
  EXPECT_EQ(AnswerOf(call_), AtOnce() ? GetParam().reply : GetParam().failed);
  EXPECT_EQ(group_->failed(), writes);
}

TEST_P(Answered, OfADiskThatHangsUntilACrash) {
  Ask();
  group_.reset();
  store_.reset();
  EXPECT_EQ(AnswerOf(call_), AtOnce() ? GetParam().reply : "none");
  calls_.clear();  // Of which some are never answered.
}

// Found settled: the disk has no say.
const Row kSettledRows[] = {
    {"Replay", kGrants, Found::kSettled, kCommits, kReserve, "REPLAYED", nullptr},
    {"Conflict", kNothing, Found::kSettled, kGrants, kReserve, "CONFLICT", nullptr},
    {"Mismatch", kNothing, Found::kSettled, kGrants, kMismatch, "MISMATCH", nullptr},
    {"MismatchOfAResult", kGrants, Found::kSettled, kCommits, kMismatch, "MISMATCH", nullptr},
    {"Regained", kNothing, Found::kSettled, kGrants, kRegain, "FRESH", nullptr},
    {"NeverThere", kNothing, Found::kSettled, kNothing, kInspect, "ABSENT", nullptr},
    {"Gone", kGrants, Found::kSettled, kReleases, kInspect, "ABSENT", nullptr},
    {"Pending", kGrants, Found::kSettled, kExtends, kInspect, "PENDING", nullptr},
    {"Committed", kGrants, Found::kSettled, kCommits, kInspect, "COMMITTED", nullptr},
    {"NotReserved", kGrants, Found::kSettled, kReleases, kCommitWrong, "NOT_RESERVED", nullptr},
    {"NothingToRelease", kGrants, Found::kSettled, kReleases, kReleaseWrong, "nothing to release",
     nullptr},
    {"Superseded", kGrants, Found::kSettled, kTakesOver, kCommitWrong, "SUPERSEDED", nullptr},
    {"CommittedAgain", kGrants, Found::kSettled, kCommits, kCommit, "already committed", nullptr},
    {"CommittedDifferently", kGrants, Found::kSettled, kCommits, kCommitOther,
     "COMMITTED_DIFFERENTLY", nullptr},
    {"AlreadyCommitted", kGrants, Found::kSettled, kCommits, kRelease, "ALREADY_COMMITTED",
     nullptr},
    {"TooLate", kNothing, Found::kSettled, kGrants, kTooLate, "DEADLINE_PASSED", nullptr},
    {"Draining", kNothing, Found::kSettled, kGrants, kWhileDraining, "DRAINING", nullptr},
    {"WithoutSpace", kNothing, Found::kSettled, kNothing, kWithoutSpace, "DISK_FULL", nullptr},
    {"Unreadable", kNothing, Found::kSettled, kGrants, kUnreadable, "STORE_FAILED", nullptr},
};
INSTANTIATE_TEST_SUITE_P(FoundSettled, Answered, testing::ValuesIn(kSettledRows),
                         [](const auto& row) { return row.param.name; });

// Found as an earlier drain left it, of which nobody was told: nothing may be said of
// it before, not even that there is nothing. If the write fails, nobody knows what is so:
// a call that changed nothing may be the repeat of one that did.
const Row kUndurableRows[] = {
    {"Replay", kGrants, Found::kUndurable, kCommits, kReserve, "REPLAYED", "OUTCOME_UNKNOWN"},
    {"Conflict", kNothing, Found::kUndurable, kGrants, kReserve, "CONFLICT", "OUTCOME_UNKNOWN"},
    {"Mismatch", kNothing, Found::kUndurable, kGrants, kMismatch, "MISMATCH", "OUTCOME_UNKNOWN"},
    {"Regained", kNothing, Found::kUndurable, kGrants, kRegain, "FRESH", "OUTCOME_UNKNOWN"},
    {"Gone", kGrants, Found::kUndurable, kReleases, kInspect, "ABSENT", "OUTCOME_UNKNOWN"},
    {"Pending", kGrants, Found::kUndurable, kExtends, kInspect, "PENDING", "OUTCOME_UNKNOWN"},
    {"Committed", kGrants, Found::kUndurable, kCommits, kInspect, "COMMITTED", "OUTCOME_UNKNOWN"},
    {"NotReserved", kGrants, Found::kUndurable, kReleases, kCommitWrong, "NOT_RESERVED",
     "OUTCOME_UNKNOWN"},
    {"NothingToRelease", kGrants, Found::kUndurable, kReleases, kReleaseWrong, "nothing to release",
     "OUTCOME_UNKNOWN"},
    {"Superseded", kGrants, Found::kUndurable, kTakesOver, kCommitWrong, "SUPERSEDED",
     "OUTCOME_UNKNOWN"},
    {"CommittedAgain", kGrants, Found::kUndurable, kCommits, kCommit, "already committed",
     "OUTCOME_UNKNOWN"},
    {"CommittedDifferently", kGrants, Found::kUndurable, kCommits, kCommitOther,
     "COMMITTED_DIFFERENTLY", "OUTCOME_UNKNOWN"},
    {"AlreadyCommitted", kGrants, Found::kUndurable, kCommits, kRelease, "ALREADY_COMMITTED",
     "OUTCOME_UNKNOWN"},
    {"TooLate", kNothing, Found::kUndurable, kGrants, kTooLate, "DEADLINE_PASSED",
     "OUTCOME_UNKNOWN"},
    {"Draining", kNothing, Found::kUndurable, kGrants, kWhileDraining, "DRAINING",
     "OUTCOME_UNKNOWN"},
    {"WithoutSpace", kGrants, Found::kUndurable, kReleases, kWithoutSpace, "DISK_FULL",
     "OUTCOME_UNKNOWN"},
    {"Commit", kNothing, Found::kUndurable, kGrants, kCommit, "committed", "OUTCOME_UNKNOWN"},
    {"Release", kNothing, Found::kUndurable, kGrants, kRelease, "released", "OUTCOME_UNKNOWN"},
    {"Extend", kNothing, Found::kUndurable, kGrants, kExtend, "extended", "OUTCOME_UNKNOWN"},
    {"GrantAfterARelease", kGrants, Found::kUndurable, kReleases, kReserve, "FRESH",
     "OUTCOME_UNKNOWN"},
    {"AfterTwo", kNothing, Found::kUndurable, Then(kGrants, kCommits), kReserve, "REPLAYED",
     "OUTCOME_UNKNOWN"},
};
INSTANTIATE_TEST_SUITE_P(FoundUndurable, Answered, testing::ValuesIn(kUndurableRows),
                         [](const auto& row) { return row.param.name; });

// Changed in the same drain: what was said of the key, before the change or after it,
// has one end.
const Row kSameDrainRows[] = {
    {"Grant", kNothing, Found::kSameDrain, kNothing, kReserve, "FRESH", "OUTCOME_UNKNOWN"},
    {"Commit", kGrants, Found::kSameDrain, kNothing, kCommit, "committed", "OUTCOME_UNKNOWN"},
    {"Release", kGrants, Found::kSameDrain, kNothing, kRelease, "released", "OUTCOME_UNKNOWN"},
    {"Extend", kGrants, Found::kSameDrain, kNothing, kExtend, "extended", "OUTCOME_UNKNOWN"},
    {"Takeover", Then(kGrants, [](Bench& b) { b.Advance(absl::Seconds(10)); }), Found::kSameDrain,
     kNothing, kReserve, "FRESH", "OUTCOME_UNKNOWN"},
    {"Replay", kGrants, Found::kSameDrain, kCommits, kReserve, "REPLAYED", "OUTCOME_UNKNOWN"},
    {"Conflict", kNothing, Found::kSameDrain, kGrants, kReserve, "CONFLICT", "OUTCOME_UNKNOWN"},
    {"Gone", kGrants, Found::kSameDrain, kReleases, kInspect, "ABSENT", "OUTCOME_UNKNOWN"},
    {"TooLate", kNothing, Found::kSameDrain, kGrants, kTooLate, "DEADLINE_PASSED",
     "OUTCOME_UNKNOWN"},
    {"ConflictBeforeTheCommit", kGrants, Found::kSameDrain, kNothing,
     [](Bench& b) {
       Call conflict = b.Reserve({.request_id = "another"});
       b.Commit(b.TokenOf());
       return conflict;
     },
     "CONFLICT", "OUTCOME_UNKNOWN"},
};
INSTANTIATE_TEST_SUITE_P(ChangedMeanwhile, Answered, testing::ValuesIn(kSameDrainRows),
                         [](const auto& row) { return row.param.name; });

// ---- Beyond one call ----

class Undurable : public Bench {};

TEST_F(Undurable, TwoKeysOfOneDrainAreIndependent) {
  Hold({.key = "settled", .request_id = "s"});
  store_->HoldDurability();
  const Call grant = Reserve({.request_id = "1"});
  Execute();
  const Call settled = Inspect("settled");
  const Call undurable = Inspect();
  const Call absent = Inspect("nothing");
  Execute();  // A drain that changes nothing.
  EXPECT_EQ(AnswerOf(settled), "PENDING");
  EXPECT_EQ(AnswerOf(absent), "ABSENT");
  EXPECT_EQ(AnswerOf(undurable), "none");
  store_->ReleaseDurability();
  EXPECT_EQ(AnswerOf(grant), "FRESH");
  EXPECT_EQ(AnswerOf(undurable), "PENDING");
}

TEST_F(Undurable, IsForTheKeysOwnWriteAndNotForALaterOne) {
  store_->HoldDurability();
  Reserve({.request_id = "1"});
  Execute();
  const Call look = Inspect();
  Execute();
  const Call later = Reserve({.key = "later"});
  Execute();
  store_->ReleaseSome(1);
  EXPECT_EQ(AnswerOf(look), "PENDING");
  EXPECT_EQ(AnswerOf(later), "none");
  const Call again = Inspect();
  Execute();
  EXPECT_EQ(AnswerOf(again), "PENDING");
  store_->ReleaseDurability();
}

TEST_F(Undurable, AWaiterWokenByAnUndurableCommitWaitsWithIt) {
  const Token token = Hold();
  const Call waiter = Park("w");
  store_->HoldDurability();
  const Call commit = Commit(token);
  Execute();
  EXPECT_EQ(AnswerOf(commit), "none");
  EXPECT_EQ(AnswerOf(waiter), "none");
  store_->ReleaseDurability();
  EXPECT_EQ(AnswerOf(waiter), "REPLAYED");
}

TEST_F(Undurable, AWaiterGrantedByAnUndurableReleaseOrLapseWaitsWithIt) {
  const Token token = Hold();
  const Call first = Park("1");
  const Call second = Park("2");
  store_->HoldDurability();
  Release(token);
  Execute();
  Advance(absl::Seconds(10));
  Execute();  // The lease of the first lapses: it never heard of it.
  EXPECT_EQ(AnswerOf(first), "none");
  EXPECT_EQ(AnswerOf(second), "none");
  store_->ReleaseDurability();
  EXPECT_EQ(AnswerOf(first), "FRESH");
  EXPECT_EQ(AnswerOf(second), "FRESH");
  EXPECT_GT(As<Fresh>(second).fence, As<Fresh>(first).fence);
}

TEST_F(Undurable, AWaitThatEndsOnAnUndurableGrantWaitsOn) {
  store_->HoldDurability();
  const Call grant = Reserve({.request_id = "holder"});
  Execute();
  const Call waiter = Reserve({.request_id = "w", .wait = absl::Seconds(5)});
  Execute();
  Advance(absl::Seconds(5));
  Execute();
  EXPECT_EQ(AnswerOf(waiter), "none");
  store_->ReleaseDurability();
  EXPECT_EQ(AnswerOf(grant), "FRESH");
  EXPECT_EQ(AnswerOf(waiter), "CONFLICT");
}

TEST_F(Undurable, AWaitThatEndsOnASettledGrantDoesNot) {
  Hold();
  const Call waiter = Park("w", absl::Seconds(5));
  store_->HoldDurability();
  Advance(absl::Seconds(5));
  Execute();
  EXPECT_EQ(AnswerOf(waiter), "CONFLICT");
  store_->ReleaseDurability();
}

// Each is a drain of its own.
TEST_F(Undurable, AnswersOfAKeyComeInTheirOrder) {
  std::vector<std::string> order;
  const auto ask = [&](const char* name, Operation operation) {
    const Call call = Submit("key", std::move(operation));
    drain_.requests.back().answer = [call, &order, name](Answer answer) {
      call->answer = std::move(answer);
      ++call->answers;
      order.push_back(name);
    };
    Execute();
  };
  store_->HoldDurability();
  ask("reserve", ReserveOp{.fingerprint = "print", .lease_ttl = absl::Seconds(10)});
  ask("look", InspectOp{});
  ask("release", ReleaseOp{TokenOf()});
  ask("look again", InspectOp{});
  store_->ReleaseDurability();
  EXPECT_EQ(order, (std::vector<std::string>{"reserve", "look", "release", "look again"}));
}

}  // namespace
}  // namespace onced::shard_test
