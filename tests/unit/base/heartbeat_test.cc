#include "server/base/heartbeat.h"

#include <gtest/gtest.h>

#include "server/base/descriptors.h"
#include "server/base/liveness.h"

namespace onced {
namespace {

TEST(Heartbeat, AsksOnceUntilItIsAnswered) {
  Heartbeat heartbeat{std::chrono::hours(1)};
  int wakes = 0;
  const auto wake = [&] { ++wakes; };
  EXPECT_TRUE(heartbeat.Alive(wake));
  EXPECT_TRUE(heartbeat.Alive(wake));
  EXPECT_EQ(wakes, 1);
  heartbeat.Beat();
  EXPECT_TRUE(heartbeat.Alive(wake));
  EXPECT_EQ(wakes, 2);
}

TEST(Heartbeat, AnAnswerThatStaysAwayIsNoticedAndOneThatComesLateIsTaken) {
  Heartbeat heartbeat{std::chrono::nanoseconds(0)};
  EXPECT_TRUE(heartbeat.Alive([] {})) << "it was just asked";
  EXPECT_FALSE(heartbeat.Alive([] {}));
  EXPECT_FALSE(heartbeat.Alive([] {}));
  heartbeat.Beat();
  EXPECT_TRUE(heartbeat.Alive([] {}));
}

TEST(Heartbeat, WhoIsWokenMayAnswerAtOnce) {
  Heartbeat heartbeat{std::chrono::nanoseconds(0)};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(heartbeat.Alive([&] { heartbeat.Beat(); }));
}

TEST(Liveness, TellsWhatTheFirstOneLacksAndNothingOnceItHasEnded) {
  Liveness liveness;
  EXPECT_TRUE(liveness.Ask().ok());
  liveness.Watch([] { return absl::OkStatus(); });
  EXPECT_TRUE(liveness.Ask().ok());
  liveness.Watch([] { return absl::UnavailableError("a"); });
  liveness.Watch([] { return absl::UnavailableError("b"); });
  EXPECT_EQ(liveness.Ask().message(), "a");
  liveness.End();
  EXPECT_TRUE(liveness.Ask().ok());
}

TEST(Descriptors, AreLeftToTheStore) {
  EXPECT_EQ(ConnectionsFor(1), 1u);
  EXPECT_EQ(ConnectionsFor(512), 1u);
  EXPECT_EQ(ConnectionsFor(1'024), 512u);
  EXPECT_EQ(ConnectionsFor(4'096), 3'072u);
  EXPECT_EQ(ConnectionsFor(1'000'000), 10'000u);
}

TEST(Descriptors, TheBoundIsRaisedAsFarAsItGoes) {
  const std::size_t now = RaiseDescriptorLimit();
  EXPECT_GE(now, 1u);
  EXPECT_EQ(RaiseDescriptorLimit(), now);
}

}  // namespace
}  // namespace onced
