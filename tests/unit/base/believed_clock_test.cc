#include "server/base/believed_clock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace onced {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

// Both clocks run together until a test steps the one on the wall.
class FakeTimeSource final : public TimeSource {
 public:
  TimeReading Read() const override { return reading_; }
  void Pass(absl::Duration d) {
    reading_.wall += d;
    reading_.monotonic += d;
  }
  void StepWall(absl::Duration d) { reading_.wall += d; }
  absl::Time wall() const { return reading_.wall; }

 private:
  TimeReading reading_{absl::FromUnixSeconds(1'700'000'000), absl::Hours(5)};
};

class BelievedClockTest : public testing::Test {
 protected:
  BelievedClock::Options Options(absl::Time last = absl::InfinitePast()) {
    return {.last_believed = last,
            .on_step = [this](absl::Duration step) { steps_.push_back(step); }};
  }

  FakeTimeSource source_;
  std::vector<absl::Duration> steps_;
};

TEST_F(BelievedClockTest, FollowsTheWallClockWhileTheyAgree) {
  const BelievedClock clock(source_, Options());
  for (int i = 0; i < 1'000; ++i) {
    source_.Pass(absl::Seconds(10));
    source_.StepWall(absl::Milliseconds(5));  // The monotonic clock is slow by 0.5 per mille.
    EXPECT_EQ(clock.Now(), source_.wall());
  }
  EXPECT_EQ(steps_, std::vector<absl::Duration>{});
}

TEST_F(BelievedClockTest, DoesNotBelieveAStepAhead) {
  const BelievedClock clock(source_, Options());
  const absl::Time before = clock.Now();
  source_.StepWall(kDay);
  EXPECT_EQ(clock.Now(), before);
  source_.Pass(absl::Seconds(1));
  EXPECT_EQ(clock.Now(), before + absl::Seconds(1));
  EXPECT_EQ(clock.Step(), kDay);
  EXPECT_EQ(steps_, std::vector<absl::Duration>{kDay});  // Told once.
}

TEST_F(BelievedClockTest, DoesNotBelieveAStepBack) {
  const BelievedClock clock(source_, Options());
  const absl::Time before = clock.Now();
  source_.StepWall(-kDay);
  source_.Pass(absl::Seconds(1));
  EXPECT_EQ(clock.Now(), before + absl::Seconds(1));
  EXPECT_EQ(clock.Step(), -kDay);
}

struct ToleranceRow {
  const char* name;
  absl::Duration step;
  bool believed;
};
const ToleranceRow kTolerance[] = {
    {"ahead_at_bound", absl::Seconds(1), true},
    {"ahead_over_bound", absl::Seconds(1) + absl::Microseconds(1), false},
    {"back_at_bound", -absl::Seconds(10), true},
    {"back_over_bound", -absl::Seconds(10) - absl::Microseconds(1), false},
};
TEST_F(BelievedClockTest, ToleratesSmallSteps) {
  for (const ToleranceRow& row : kTolerance) {
    SCOPED_TRACE(row.name);
    const BelievedClock clock(source_, Options());
    source_.StepWall(row.step);
    EXPECT_EQ(clock.Step() == absl::ZeroDuration(), row.believed);
  }
}

TEST_F(BelievedClockTest, SlowsDownInsteadOfGoingBack) {
  const BelievedClock clock(source_, Options());
  const absl::Time before = clock.Now();
  source_.StepWall(-absl::Milliseconds(500));
  EXPECT_EQ(clock.Now(), before);
  source_.Pass(absl::Seconds(1));
  EXPECT_EQ(clock.Now(), before + absl::Milliseconds(900));
  source_.Pass(absl::Seconds(10));
  EXPECT_EQ(clock.Now(), source_.wall());
}

TEST_F(BelievedClockTest, BelievesAgainOnceTheWallClockIsBack) {
  const BelievedClock clock(source_, Options());
  source_.StepWall(kDay);
  EXPECT_EQ(clock.Step(), kDay);
  source_.StepWall(-kDay);
  EXPECT_EQ(clock.Now(), source_.wall());
  EXPECT_EQ(steps_, (std::vector<absl::Duration>{kDay, absl::ZeroDuration()}));
}

TEST_F(BelievedClockTest, TakesAnAcceptedStepAhead) {
  BelievedClock clock(source_, Options());
  source_.StepWall(kDay);
  clock.Accept();
  EXPECT_EQ(clock.Now(), source_.wall());
  EXPECT_EQ(clock.Step(), absl::ZeroDuration());
}

TEST_F(BelievedClockTest, GoesOnFromAnAcceptedStepBack) {
  BelievedClock clock(source_, Options());
  const absl::Time before = clock.Now();
  source_.StepWall(-kDay);
  clock.Accept();
  EXPECT_EQ(clock.Step(), absl::ZeroDuration());
  source_.Pass(absl::Seconds(7));
  EXPECT_EQ(clock.Now(), before + absl::Seconds(7));
  source_.StepWall(kDay);  // Is a step now, from what was accepted.
  EXPECT_EQ(clock.Step(), kDay);
}

// Each start resumes at the mark, up to a second ahead of the wall clock.
TEST_F(BelievedClockTest, CatchesUpAfterACrashLoop) {
  absl::Time mark = source_.wall();
  for (int crash = 0; crash < 5; ++crash) {
    const BelievedClock clock(source_, Options(mark));
    source_.Pass(absl::Milliseconds(100));
    mark = clock.Now() + absl::Seconds(1);
  }
  const BelievedClock clock(source_, Options(mark));
  EXPECT_GT(clock.Now(), source_.wall() + absl::Seconds(4));
  source_.Pass(absl::Minutes(1));
  EXPECT_EQ(clock.Now(), source_.wall());
  EXPECT_EQ(steps_, std::vector<absl::Duration>{});
}

struct StartRow {
  const char* name;
  absl::Duration wall_ahead;  // Of what was believed last.
  bool believed;
};
const StartRow kStarts[] = {
    {"same", absl::ZeroDuration(), true},
    {"ahead", absl::Hours(1), true},
    {"ahead_at_bound", 7 * kDay, true},
    {"ahead_over_bound", 7 * kDay + absl::Microseconds(1), false},
    {"behind", -absl::Microseconds(1), false},
    {"far_behind", -30 * kDay, false},
};
TEST_F(BelievedClockTest, StartsWhereItIsPlausible) {
  for (const StartRow& row : kStarts) {
    SCOPED_TRACE(row.name);
    const absl::Time last = source_.wall() - row.wall_ahead;
    const BelievedClock clock(source_, Options(last));
    EXPECT_EQ(clock.Now(), row.believed ? source_.wall() : last);
    const bool step = absl::AbsDuration(row.wall_ahead) > absl::Minutes(1) && !row.believed;
    EXPECT_EQ(steps_,
              step ? std::vector<absl::Duration>{row.wall_ahead} : std::vector<absl::Duration>{});
    steps_.clear();
  }
}

TEST_F(BelievedClockTest, AcceptsAtTheStartIfAsked) {
  for (const absl::Duration ahead : {30 * kDay, -30 * kDay}) {
    BelievedClock::Options options = Options(source_.wall() - ahead);
    options.accept_at_start = true;
    const BelievedClock clock(source_, options);
    EXPECT_EQ(clock.Step(), absl::ZeroDuration());
    EXPECT_EQ(clock.Now(), std::max(source_.wall(), source_.wall() - ahead));
    EXPECT_EQ(steps_, std::vector<absl::Duration>{});
  }
}

TEST_F(BelievedClockTest, NeverGoesBackWhateverTheWallClockDoes) {
  const BelievedClock clock(source_, Options());
  absl::Time last = clock.Now();
  const absl::Duration steps[] = {kDay,
                                  -kDay,
                                  absl::Milliseconds(700),
                                  -absl::Milliseconds(700),
                                  -2 * kDay,
                                  absl::Milliseconds(1),
                                  absl::Hours(49)};
  for (int i = 0; i < 700; ++i) {
    source_.StepWall(steps[i % std::size(steps)]);
    source_.Pass(absl::Milliseconds(i % 3));
    const absl::Time now = clock.Now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(SystemTimeSource, AgreesWithItself) {
  const SystemTimeSource source;
  const TimeReading first = source.Read();
  const BelievedClock clock(source, {});
  const absl::Time now = clock.Now();
  const TimeReading second = source.Read();
  EXPECT_GE(now, first.wall);
  EXPECT_LE(now, second.wall);
  EXPECT_GE(second.monotonic, first.monotonic);
}

TEST_F(BelievedClockTest, IsReadByManyThreads) {
  const SystemTimeSource source;
  const BelievedClock clock(source, {});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&clock] {
      absl::Time last = clock.Now();
      for (int n = 0; n < 10'000; ++n) {
        const absl::Time now = clock.Now();
        EXPECT_GE(now, last);
        last = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace onced
