#include "tests/bench/load/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/bench/load/runner.h"
#include "tests/unit/bench/fake_driver.h"

namespace onced::bench {
namespace {

using testing::Each;
using testing::Field;
using testing::SizeIs;

std::vector<Step> NextOf(Workload& workload, int caller, std::size_t count) {
  std::vector<Step> steps(count);
  workload.Next(caller, steps);
  return steps;
}

std::unique_ptr<Workload> Measured(const std::string& name, const WorkloadOptions& options = {}) {
  return MakeWorkload(name, options).value().measured;
}

TEST(Workloads, HaveNames) {
  for (const std::string& name : WorkloadNames()) EXPECT_TRUE(MakeWorkload(name, {}).ok()) << name;
  EXPECT_FALSE(MakeWorkload("none", {}).ok());
}

TEST(Fresh, NeverAsksTwiceForAKey) {
  const auto workload = Measured("fresh");
  std::set<std::string> keys;
  std::set<std::string> request_ids;
  for (int i = 0; i < 100; ++i) {
    for (const Step& step : NextOf(*workload, 0, 10)) {
      EXPECT_EQ(step.expect, Expect::kFresh);
      EXPECT_EQ(step.key.size(), 32U);
      EXPECT_EQ(step.key.front(), kFreshKey);
      keys.insert(step.key);
      request_ids.insert(step.request_id);
    }
  }
  EXPECT_THAT(keys, SizeIs(1'000));
  EXPECT_THAT(request_ids, SizeIs(1'000));
}

TEST(Fresh, OfAnotherSeedHasOtherKeys) {
  const auto one = Measured("fresh", {.seed = 1});
  const auto other = Measured("fresh", {.seed = 2});
  EXPECT_NE(NextOf(*one, 0, 1)[0].key, NextOf(*other, 0, 1)[0].key);
}

TEST(Pairs, CommitsWhatTheCallerWasGranted) {
  const auto workload = Measured("pairs", {.callers = 2});
  std::vector<Step> mine(2);
  std::vector<Step> others(2);
  workload->Next(0, mine);
  workload->Next(1, others);
  const std::string key = mine[1].key;
  workload->Completed(0, {{true, "a"}, {true, "b"}});
  workload->Next(0, mine);
  EXPECT_EQ(mine[1].op, Op::kCommit);
  EXPECT_EQ(mine[1].expect, Expect::kCommitted);
  EXPECT_EQ(mine[1].key, key);
  EXPECT_EQ(mine[1].token, "b");
  EXPECT_EQ(*mine[1].body, ResultBody());
  workload->Completed(0, {{true, ""}, {true, ""}});
  workload->Next(0, mine);
  EXPECT_EQ(mine[1].op, Op::kReserve);
  EXPECT_NE(mine[1].key, key);
}

TEST(Replays, AsksForWhatWasCommittedBefore) {
  WorkloadPlan plan = MakeWorkload("replays", {.callers = 3, .seed = 5, .records = 100}).value();
  FakeDriver driver;
  ASSERT_TRUE(RunToEnd(driver, *plan.before, /*callers=*/3, /*steps=*/1).ok());
  std::map<std::string, std::string> fingerprints;
  int commits = 0;
  for (const Step& step : driver.started) {
    fingerprints[step.key] = step.fingerprint;
    commits += step.op == Op::kCommit ? 1 : 0;
  }
  EXPECT_THAT(fingerprints, SizeIs(100));
  EXPECT_EQ(commits, 100);
  for (const Step& step : NextOf(*plan.measured, 0, 1'000)) {
    EXPECT_EQ(step.expect, Expect::kReplayed);
    ASSERT_TRUE(fingerprints.contains(step.key));
    EXPECT_EQ(fingerprints[step.key], step.fingerprint);
    EXPECT_EQ(step.body, &ResultBody());
  }
}

TEST(Replays90, IsFreshInOneOfTen) {
  const auto workload = Measured("replays90");
  int fresh = 0;
  for (const Step& step : NextOf(*workload, 0, 10'000)) {
    fresh += step.expect == Expect::kFresh ? 1 : 0;
    EXPECT_EQ(step.body != nullptr, step.expect == Expect::kReplayed);
  }
  EXPECT_NEAR(fresh, 1'000, 150);
}

TEST(Hot, IsHeldBySomebodyElse) {
  WorkloadPlan plan = MakeWorkload("hot", {}).value();
  const Step held = NextOf(*plan.before, 0, 1)[0];
  EXPECT_FALSE(plan.before->HasNext(0));
  for (const Step& step : NextOf(*plan.measured, 0, 100)) {
    EXPECT_EQ(step.key, held.key);
    EXPECT_EQ(step.fingerprint, held.fingerprint);
    // With the holder's it would be granted again.
    EXPECT_NE(step.request_id, held.request_id);
    EXPECT_EQ(step.expect, Expect::kConflictOrReplayed);
  }
}

TEST(ZipfKeys, KnowsWhoMustHaveAHolder) {
  const auto workload = Measured("zipf", {.records = 1});
  EXPECT_THAT(NextOf(*workload, 0, 2), Each(Field(&Step::expect, Expect::kAny)));
  workload->Completed(0, {{true, ""}, {true, ""}});
  EXPECT_THAT(NextOf(*workload, 0, 2), Each(Field(&Step::expect, Expect::kConflictOrReplayed)));
}

TEST(Fill, EndsAfterThatManyRecords) {
  FakeDriver driver;
  const auto fill = MakeFill(1, 1'000);
  ASSERT_TRUE(RunToEnd(driver, *fill, /*callers=*/7, /*steps=*/10).ok());
  EXPECT_THAT(driver.started, SizeIs(1'000));
}

}  // namespace
}  // namespace onced::bench
