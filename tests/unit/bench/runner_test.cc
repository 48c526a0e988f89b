#include "tests/bench/load/runner.h"

#include <gtest/gtest.h>

#include "tests/unit/bench/fake_driver.h"

namespace onced::bench {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<Workload> Fresh() { return MakeWorkload("fresh", {}).value().measured; }

LoadOptions On(const FakeDriver& driver, LoadOptions options) {
  options.now = [&driver] { return driver.now; };
  return options;
}

TEST(ClosedLoop, KeepsEveryCallerBusyAndNoMore) {
  FakeDriver driver;
  driver.delay = milliseconds(1);
  const auto workload = Fresh();
  const auto result = RunLoad(
      driver, *workload,
      On(driver,
         {.callers = 5, .steps = 3, .warm_up = milliseconds(10), .duration = milliseconds(50)}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(driver.most_in_flight, 5U);
  // Answers at 1, 2, ... ms; those at 10 to 59 count.
  EXPECT_EQ(result->latency.count(), 5U * 50);
  EXPECT_EQ(result->steps, 3U * 5 * 50);
  EXPECT_EQ(result->all_steps, 3U * 5 * 60);
  EXPECT_DOUBLE_EQ(result->StepsPerSecond(), 15'000);
  EXPECT_GE(result->latency.Percentile(0), milliseconds(1));
  EXPECT_LE(result->latency.Percentile(1), std::chrono::microseconds(1'008));
}

// The answers stay away for the first half. A closed loop asks once meanwhile; an open
// one has to tell of all who would have come.
TEST(OpenLoop, CountsFromWhenAMessageWasToBeSent) {
  FakeDriver driver;
  driver.stalled_until = driver.now + milliseconds(500);
  const auto workload = Fresh();
  const auto result = RunLoad(driver, *workload,
                              On(driver, {.callers = 1,
                                          .warm_up = milliseconds(0),
                                          .duration = milliseconds(1'000),
                                          .messages_per_second = 1'000}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(driver.most_in_flight, 1U);
  EXPECT_NEAR(static_cast<double>(result->steps), 1'000, 150);
  // They waited from 500 ms down to none.
  EXPECT_GT(result->latency.Percentile(0.95), milliseconds(400));
  EXPECT_GT(result->latency.Percentile(0.75), milliseconds(200));
  EXPECT_LT(result->latency.Percentile(0.40), milliseconds(1));
}

TEST(OpenLoop, SendsNoMoreThanComes) {
  FakeDriver driver;
  const auto workload = Fresh();
  const auto result = RunLoad(driver, *workload,
                              On(driver, {.callers = 50,
                                          .warm_up = milliseconds(0),
                                          .duration = milliseconds(1'000),
                                          .messages_per_second = 500}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(static_cast<double>(driver.started.size()), 500, 110);  // Five deviations.
}

TEST(AnyLoopAtAll, GivesUpWhereNobodyAnswers) {
  FakeDriver driver;
  driver.delay = std::chrono::hours(1);
  const auto workload = Fresh();
  const auto result = RunLoad(driver, *workload, On(driver, {.callers = 1}));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
}

struct Loop {
  const char* name;
  double rate;
};
class AnyLoop : public testing::TestWithParam<Loop> {};

TEST_P(AnyLoop, FailsAtAWrongAnswer) {
  FakeDriver driver;
  driver.wrong_at = 7;
  const auto workload = Fresh();
  const auto result = RunLoad(driver, *workload,
                              On(driver, {.callers = 2,
                                          .warm_up = milliseconds(0),
                                          .duration = std::chrono::minutes(1),
                                          .messages_per_second = GetParam().rate}));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(result.status().message().find(driver.started[7].key), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Loops, AnyLoop, testing::Values(Loop{"closed", 0}, Loop{"open", 10'000}),
                         [](const auto& row) { return row.param.name; });

TEST(RunToEnd, FailsAtAWrongAnswer) {
  FakeDriver driver;
  driver.wrong_at = 7;
  const auto fill = MakeFill(1, 100);
  EXPECT_FALSE(RunToEnd(driver, *fill, 2, 1).ok());
}

}  // namespace
}  // namespace onced::bench
