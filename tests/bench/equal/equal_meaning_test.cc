// That the servers which are compared mean the same: the same questions, the same
// answers. Skips those that aren't installed.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/bench/equal/systems.h"

namespace onced::bench {
namespace {

constexpr std::chrono::seconds kPatience{30};
const std::string kBody = "the result";
const std::string kOtherBody = "another result";

Step Reserve(const std::string& key, const std::string& request_id, Expect expect,
             const std::string& fingerprint = "fingerprint") {
  return {.expect = expect, .key = key, .fingerprint = fingerprint, .request_id = request_id};
}

Step Commit(const std::string& key, const std::string& token, Expect expect = Expect::kCommitted,
            const std::string& body = kBody) {
  const std::string& lasting = body == kBody ? kBody : kOtherBody;
  return {.op = Op::kCommit, .expect = expect, .key = key, .token = token, .body = &lasting};
}

Step Replay(const std::string& key, const std::string& body = kBody) {
  Step step = Reserve(key, "replay", Expect::kReplayed);
  step.body = body == kBody ? &kBody : &kOtherBody;
  return step;
}

// One server for all tests of a row: each test has keys of its own.
class EqualMeaning : public testing::TestWithParam<System> {
 protected:
  static constexpr int kCallers = 8;

  void SetUp() override { Connect(/*connections=*/4); }

  void Connect(int connections) {
    driver_.reset();
    const absl::StatusOr<Peer*> peer = RunningPeer(GetParam());
    if (absl::IsFailedPrecondition(peer.status())) GTEST_SKIP() << peer.status().message();
    ASSERT_TRUE(peer.ok()) << peer.status();
    auto driver = (*peer)->MakeDriver({.callers = kCallers, .connections = connections});
    ASSERT_TRUE(driver.ok()) << driver.status();
    driver_ = *std::move(driver);
  }

  // All messages at once, one a caller; what was answered to each.
  std::vector<std::vector<Outcome>> AskAtOnce(const std::vector<std::vector<Step>>& messages) {
    std::vector<std::vector<Outcome>> answers(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
      driver_->Start(static_cast<int>(i), messages[i]);
    }
    const Clock::time_point give_up = Clock::now() + kPatience;
    std::vector<Completion> done;
    while (done.size() < messages.size() && Clock::now() < give_up) driver_->Poll(give_up, done);
    EXPECT_EQ(done.size(), messages.size());
    for (Completion& completion : done) answers[completion.caller] = completion.outcomes;
    for (std::size_t i = 0; i < messages.size(); ++i) answers[i].resize(messages[i].size());
    return answers;
  }
  std::vector<Outcome> AskMany(const std::vector<Step>& steps) { return AskAtOnce({steps})[0]; }
  Outcome Ask(const Step& step) { return AskMany({step})[0]; }

  // A key that no other test has, on this server or in another of the test's runs.
  std::string Key(const std::string& name) const {
    return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" + name;
  }
  std::string Hold(const std::string& key) {
    const Outcome granted = Ask(Reserve(key, "holder", Expect::kFresh));
    EXPECT_TRUE(granted.as_expected);
    EXPECT_NE(granted.token, "");
    return granted.token;
  }
  void CommitIt(const std::string& key) { EXPECT_TRUE(Ask(Commit(key, Hold(key))).as_expected); }
  // By somebody who asks until it is granted; nullopt if it never is.
  std::optional<std::string> TakeOver(const std::string& key) {
    const Clock::time_point give_up = Clock::now() + kPatience;
    while (Clock::now() < give_up) {
      const Outcome answer = Ask(Reserve(key, "successor", Expect::kFresh));
      if (answer.as_expected) return answer.token;
    }
    return std::nullopt;
  }

  std::unique_ptr<Driver> driver_;
};

// ---- One key after the other: the tables of section 3 of docs/protocol.md ----

// What is asked of a key that is in a state, and whether the answer may be taken for
// what is expected.
struct Row {
  const char* name;
  enum { kAbsent, kPending, kCommitted } found;
  std::function<Step(const std::string& key, const std::string& token)> step;
  bool as_expected;
};

Row Reserving(const char* name, decltype(Row::found) found, const std::string& request_id,
              const std::string& fingerprint, Expect expect, bool as_expected) {
  return {name, found,
          [=](const std::string& key, const std::string&) {
            return Reserve(key, request_id, expect, fingerprint);
          },
          as_expected};
}

const std::vector<Row>& Rows() {
  static const std::string kSame = "fingerprint";
  static const auto commit = [](const char* token, const std::string& body) {
    return [=](const std::string& key, const std::string& held) {
      return Commit(key, std::string(token).empty() ? held : token, Expect::kCommitted, body);
    };
  };
  static const std::vector<Row> rows = {
      Reserving("absent", Row::kAbsent, "a", kSame, Expect::kFresh, true),
      Reserving("absent_isnt_replayed", Row::kAbsent, "a", kSame, Expect::kReplayed, false),
      Reserving("absent_isnt_a_conflict", Row::kAbsent, "a", kSame, Expect::kConflictOrReplayed,
                false),
      Reserving("pending", Row::kPending, "a", kSame, Expect::kConflictOrReplayed, true),
      Reserving("pending_isnt_fresh", Row::kPending, "a", kSame, Expect::kFresh, false),
      Reserving("pending_isnt_replayed", Row::kPending, "a", kSame, Expect::kReplayed, false),
      Reserving("pending_own", Row::kPending, "holder", kSame, Expect::kFresh, true),
      Reserving("pending_other_print", Row::kPending, "a", "x", Expect::kAny, true),
      Reserving("pending_other_print_isnt_fresh", Row::kPending, "a", "x", Expect::kFresh, false),
      Reserving("pending_other_print_isnt_a_conflict", Row::kPending, "a", "x",
                Expect::kConflictOrReplayed, false),
      Reserving("pending_own_other_print", Row::kPending, "holder", "x", Expect::kFresh, false),
      Reserving("committed", Row::kCommitted, "a", kSame, Expect::kReplayed, true),
      Reserving("committed_own", Row::kCommitted, "holder", kSame, Expect::kReplayed, true),
      Reserving("committed_isnt_fresh", Row::kCommitted, "a", kSame, Expect::kFresh, false),
      Reserving("committed_other_print", Row::kCommitted, "a", "x", Expect::kAny, true),
      Reserving("committed_other_print_isnt_replayed", Row::kCommitted, "a", "x",
                Expect::kConflictOrReplayed, false),
      {"commit_absent", Row::kAbsent, commit("stranger", kBody), false},
      {"commit_pending", Row::kPending, commit("", kBody), true},
      {"commit_pending_as_a_stranger", Row::kPending, commit("stranger", kBody), false},
      {"commit_again", Row::kCommitted, commit("", kBody), false},
      {"commit_differently", Row::kCommitted, commit("", kOtherBody), false},
      {"commit_committed_as_a_stranger", Row::kCommitted, commit("stranger", kBody), false},
      {"replay_of_another_body", Row::kCommitted,
       [](const std::string& key, const std::string&) { return Replay(key, kOtherBody); }, false},
  };
  return rows;
}

TEST_P(EqualMeaning, FollowsTheTables) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    const std::string key = Key(row.name);
    const std::string token = row.found == Row::kAbsent ? "" : Hold(key);
    if (row.found == Row::kCommitted) {
      EXPECT_TRUE(Ask(Commit(key, token)).as_expected);
    }
    EXPECT_EQ(Ask(row.step(key, token)).as_expected, row.as_expected);
    if (row.found == Row::kAbsent) continue;
    // Whatever was asked, the holder still has it: its commit counts, and stands.
    Ask(Commit(key, token));
    EXPECT_TRUE(Ask(Replay(key)).as_expected);
  }
}

TEST_P(EqualMeaning, GivesTheHolderTheSameTokenAgain) {
  const std::string token = Hold(Key("k"));
  EXPECT_EQ(Ask(Reserve(Key("k"), "holder", Expect::kFresh)).token, token);
}

TEST_P(EqualMeaning, ReplaysTheFirstResult) {
  const std::string token = Hold(Key("k"));
  EXPECT_TRUE(Ask(Commit(Key("k"), token)).as_expected);
  EXPECT_FALSE(Ask(Commit(Key("k"), token, Expect::kCommitted, kOtherBody)).as_expected);
  EXPECT_TRUE(Ask(Replay(Key("k"))).as_expected);
}

// ---- Leases: kShortLease ----

TEST_P(EqualMeaning, ALapsedLeaseIsTakenOver) {
  const Clock::time_point before = Clock::now();
  const std::string first = Hold(Key("k"));
  const std::optional<std::string> second = TakeOver(Key("k"));
  ASSERT_TRUE(second.has_value());
  EXPECT_GE(Clock::now() - before, kShortLease);
  EXPECT_NE(*second, first);
  EXPECT_FALSE(Ask(Commit(Key("k"), first)).as_expected);
  EXPECT_TRUE(Ask(Commit(Key("k"), *second)).as_expected);
}

// Once the later one of two has lapsed, so has the earlier.
TEST_P(EqualMeaning, ALapsedLeaseIsStillItsHolders) {
  const std::string late = Hold(Key("late"));
  Hold(Key("later"));
  ASSERT_TRUE(TakeOver(Key("later")).has_value());
  EXPECT_FALSE(Ask(Reserve(Key("late"), "b", Expect::kFresh, "x")).as_expected);
  EXPECT_TRUE(Ask(Commit(Key("late"), late)).as_expected);
  EXPECT_TRUE(Ask(Replay(Key("late"))).as_expected);
}

TEST_P(EqualMeaning, ACommitOutlivesTheLease) {
  CommitIt(Key("committed"));
  Hold(Key("later"));
  ASSERT_TRUE(TakeOver(Key("later")).has_value());
  EXPECT_TRUE(Ask(Replay(Key("committed"))).as_expected);
}

// ---- Many steps in a message ----

class EqualMeaningOfMany : public EqualMeaning {
 protected:
  static constexpr std::size_t kSteps = 64;

  std::vector<std::string> Keys(const std::string& name) const {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < kSteps; ++i) keys.push_back(Key(name + std::to_string(i)));
    return keys;
  }
  static std::vector<Step> Reserves(const std::vector<std::string>& keys, const std::string& id,
                                    Expect expect) {
    std::vector<Step> steps;
    for (const std::string& key : keys) steps.push_back(Reserve(key, id, expect));
    return steps;
  }
  static std::vector<Step> Commits(const std::vector<std::string>& keys,
                                   const std::vector<Outcome>& granted) {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      steps.push_back(Commit(keys[i], granted[i].token));
    }
    return steps;
  }
  void ExpectAll(const std::vector<Outcome>& outcomes) const {
    for (std::size_t i = 0; i < outcomes.size(); ++i) EXPECT_TRUE(outcomes[i].as_expected) << i;
  }
};

TEST_P(EqualMeaningOfMany, ReservesCommitsAndReplays) {
  const std::vector<std::string> keys = Keys("k");
  const std::vector<Outcome> granted = AskMany(Reserves(keys, "holder", Expect::kFresh));
  ExpectAll(granted);
  std::set<std::string> tokens;
  for (const Outcome& outcome : granted) tokens.insert(outcome.token);
  EXPECT_EQ(tokens.size(), kSteps);
  ExpectAll(AskMany(Reserves(keys, "other", Expect::kConflictOrReplayed)));
  ExpectAll(AskMany(Commits(keys, granted)));
  for (const Outcome& again : AskMany(Commits(keys, granted))) EXPECT_FALSE(again.as_expected);
  std::vector<Step> replays;
  for (const std::string& key : keys) replays.push_back(Replay(key));
  ExpectAll(AskMany(replays));
}

TEST_P(EqualMeaningOfMany, AnswersEachStepInItsPlace) {
  const std::string held = Hold(Key("held"));
  CommitIt(Key("committed"));
  const std::vector<Outcome> answers = AskMany({
      Reserve(Key("a"), "a", Expect::kFresh),
      Reserve(Key("held"), "b", Expect::kConflictOrReplayed),
      Replay(Key("committed")),
      Reserve(Key("held"), "b", Expect::kFresh),
      Reserve(Key("z"), "z", Expect::kFresh),
      Commit(Key("held"), "stranger"),
      Commit(Key("held"), held),
      Commit(Key("absent"), "stranger"),
      Replay(Key("held")),
  });
  const bool want[] = {true, true, true, false, true, false, true, false, true};
  for (std::size_t i = 0; i < std::size(want); ++i) {
    EXPECT_EQ(answers[i].as_expected, want[i]) << i;
  }
}

TEST_P(EqualMeaningOfMany, OfTwoStepsWithOneKeyTheSecondFindsTheFirst) {
  const std::vector<Outcome> answers = AskMany(
      {Reserve(Key("k"), "a", Expect::kFresh), Reserve(Key("k"), "b", Expect::kConflictOrReplayed),
       Reserve(Key("k"), "c", Expect::kAny, "x"), Reserve(Key("l"), "a", Expect::kFresh)});
  ExpectAll(answers);
  EXPECT_NE(answers[0].token, "");
  EXPECT_EQ(answers[1].token, "");
  EXPECT_EQ(answers[2].token, "");
}

// ---- Many at once ----

TEST_P(EqualMeaning, OneOfManyIsGrantedAKey) {
  for (int round = 0; round < 50; ++round) {
    const std::string key = Key(std::to_string(round));
    std::vector<std::vector<Step>> messages;
    for (int i = 0; i < kCallers; ++i) {
      messages.push_back({Reserve(key, std::to_string(i), Expect::kAny)});
    }
    int granted = 0;
    for (const auto& answers : AskAtOnce(messages)) {
      EXPECT_TRUE(answers[0].as_expected);
      granted += answers[0].token.empty() ? 0 : 1;
    }
    EXPECT_EQ(granted, 1) << key;
  }
}

TEST_P(EqualMeaningOfMany, OneOfManyIsGrantedEachKey) {
  for (int round = 0; round < 10; ++round) {
    std::vector<std::string> keys = Keys(std::to_string(round) + "-");
    std::vector<std::vector<Step>> messages;
    for (int i = 0; i < kCallers; ++i) {
      // In another order each, which is how transactions come to wait for each other.
      std::rotate(keys.begin(), keys.begin() + 7, keys.end());
      messages.push_back(Reserves(keys, std::to_string(i), Expect::kAny));
    }
    std::size_t granted = 0;
    for (const auto& answers : AskAtOnce(messages)) {
      ExpectAll(answers);
      for (const Outcome& outcome : answers) granted += outcome.token.empty() ? 0 : 1;
    }
    EXPECT_EQ(granted, kSteps);
  }
}

TEST_P(EqualMeaning, ManyCallersShareAConnection) {
  Connect(/*connections=*/1);
  std::vector<std::vector<Step>> messages;
  for (int i = 0; i < kCallers; ++i) {
    messages.push_back({Reserve(Key(std::to_string(i)), "a", Expect::kFresh)});
  }
  for (const auto& answers : AskAtOnce(messages)) EXPECT_TRUE(answers[0].as_expected);
}

TEST_P(EqualMeaning, PollLooksOnceAndReturnsWhenTheTimeHasPassed) {
  std::vector<Completion> done;
  driver_->Poll(Clock::now() - std::chrono::seconds(1), done);
  EXPECT_TRUE(done.empty());
}

std::string NameOf(const testing::TestParamInfo<System>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(, EqualMeaning, testing::ValuesIn(Systems()), NameOf);
INSTANTIATE_TEST_SUITE_P(, EqualMeaningOfMany, testing::ValuesIn(SystemsOfMany()), NameOf);

}  // namespace
}  // namespace onced::bench
