// Servers that are killed, or stopped, under load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "tests/fault/kill/campaign.h"

namespace onced::fault {
namespace {

// Each verdict was heard, and there were takeovers, late commits and regained grants:
// what is never asked is never found to be broken.
void ExpectAllOfTheProtocol(const Recording& run) {
  std::map<Said, int> said;
  int takeovers = 0, late = 0, already = 0;
  for (const Call& call : run.calls) {
    ++said[call.answer.said];
    if (call.answer.said == Said::kFresh && call.answer.previous_fence != 0) ++takeovers;
    if (call.answer.said == Said::kCommitted && call.answer.late) ++late;
    if (call.answer.already) ++already;
  }
  for (const Said each : {
           Said::kFresh,
           Said::kReplayed,
           Said::kConflict,
           Said::kMismatch,
           Said::kUnresolved,
           Said::kCommitted,
           Said::kReleased,
           Said::kNothingToRelease,
           Said::kExtended,
           Said::kSeen,
           Said::kSuperseded,
           Said::kCommittedDifferently,
           Said::kAlreadyCommitted,
       }) {
    EXPECT_GT(said[each], 0) << NameOf(each);
  }
  EXPECT_GT(takeovers, 0);
  EXPECT_GT(late, 0);
  EXPECT_GT(already, 0);
}

TEST(Kill9, LosesNothingThatWasAcknowledged) {
  Campaign campaign({});
  const int cycles = CyclesOr(25);
  for (int cycle = 0; cycle < cycles && !testing::Test::HasFailure(); ++cycle) {
    campaign.SomeLoad();
    campaign.Below(4) == 0 ? campaign.KillInTheDrain() : campaign.Kill();
    for (int early = 0; campaign.Below(3) == 0 && early < 3; ++early) campaign.StartAndKill();
    campaign.Start();
  }
  campaign.SomeLoad();
  campaign.Finish();
  if (cycles >= 20) ExpectAllOfTheProtocol(campaign.history().Copy());
}

TEST(Kill9, OfAServerThatDoesNotSyncLosesNothingEither) {
  Campaign campaign({.flags = {"--durability", "process"}});
  const int cycles = CyclesOr(5);
  for (int cycle = 0; cycle < cycles && !testing::Test::HasFailure(); ++cycle) {
    campaign.SomeLoad();
    campaign.Kill();
    campaign.Start();
  }
  campaign.Finish();
}

TEST(Restart, UnderLoadLosesNothing) {
  Campaign campaign({});
  const int cycles = CyclesOr(5);
  for (int cycle = 0; cycle < cycles && !testing::Test::HasFailure(); ++cycle) {
    campaign.SomeLoad();
    campaign.Terminate();
    campaign.Start();
  }
  campaign.Finish();
  EXPECT_THAT(campaign.JudgeAsIfUnansweredDidNothing().broken, testing::IsEmpty())
      << "an answer was lost";
}

// To those who wait, a pause is a server that is slow; to its clock, it is time that passed.
TEST(Pause, LosesNothing) {
  Campaign campaign({});
  const int cycles = CyclesOr(4);
  for (int cycle = 0; cycle < cycles && !testing::Test::HasFailure(); ++cycle) {
    campaign.SomeLoad();
    campaign.Pause();
    campaign.SomeLoad();
    if (campaign.Below(2) == 0) {
      campaign.Kill();
      campaign.Start();
    }
  }
  campaign.Finish();
}

TEST(Restart, WithAnotherNumberOfExecutorsLosesNothing) {
  Campaign campaign({.flags = {"--shards", "8"}});
  const int cycles = CyclesOr(8);
  for (int cycle = 0; cycle < cycles && !testing::Test::HasFailure(); ++cycle) {
    campaign.SomeLoad();
    cycle % 2 == 0 ? campaign.Kill() : campaign.Terminate();
    campaign.server().options().env = {absl::StrCat("ONCED_EXECUTORS=", 1 + campaign.Below(8))};
    campaign.Start();
  }
  campaign.Finish();
}

}  // namespace
}  // namespace onced::fault
