#include "client/cpp/settle.h"

#include <new>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/scripted_stub.h"

namespace onced::client {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;
using testing::SizeIs;

constexpr absl::Duration kBudget = absl::Minutes(1);

class SettleTest : public testing::Test {
 protected:
  // Each attempt is answered as `error`, after all its time if that is DEADLINE_EXCEEDED.
  absl::Status Fail(const absl::Status& error, absl::Duration budget = kBudget) {
    const absl::Time start = clock_.Now();
    return Settle(client_.core(), budget, [&, start](const CallOptions& call) {
      starts_.push_back(clock_.Now() - start);
      timeouts_.push_back(call.deadline - clock_.WallNow());
      if (absl::IsDeadlineExceeded(error)) clock_.Advance(timeouts_.back());
      return error;
    });
  }

  ScriptedService service_;
  Client client_ = service_.client();
  ManualClock& clock_ = service_.clock;
  std::vector<absl::Duration> starts_;
  std::vector<absl::Duration> timeouts_;
};

TEST_F(SettleTest, UsesItsWholeBudget) {
  EXPECT_TRUE(absl::IsUnavailable(
      Fail(ToAbslStatus(ServiceError(absl::StatusCode::kUnavailable, "X", absl::Seconds(25))))));
  EXPECT_THAT(starts_, ElementsAre(absl::ZeroDuration(), absl::Seconds(25), absl::Seconds(50),
                                   absl::Seconds(59)));
  // Of which the last has but the rest.
  EXPECT_EQ(timeouts_.back(), absl::Seconds(1));
  starts_.clear();
  (void)Fail(absl::UnavailableError("x"), absl::Milliseconds(100));
  EXPECT_EQ(starts_.back(), absl::Milliseconds(75));
}

TEST_F(SettleTest, IsNotToldToWaitByAProxy) {
  for (const char* domain : {"proxy", ""}) {
    starts_.clear();
    (void)Fail(ToAbslStatus(ErrorDetails{.code = absl::StatusCode::kUnavailable,
                                         .reason = "X",
                                         .domain = domain,
                                         .retry_delay = absl::Hours(1)}));
    EXPECT_THAT(starts_, SizeIs(Ge(10))) << domain;
    EXPECT_LT(starts_[1], absl::Seconds(1)) << domain;
  }
}

TEST_F(SettleTest, GivesALargeResultMoreTime) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(Fail(absl::DeadlineExceededError("timed out"))));
  ASSERT_THAT(timeouts_, SizeIs(4));
  EXPECT_EQ(timeouts_[0], absl::Seconds(5));
  EXPECT_EQ(timeouts_[1], absl::Seconds(10));
  EXPECT_EQ(timeouts_[2], absl::Seconds(20));
  EXPECT_EQ(timeouts_[3], kBudget - starts_[3]);
}

TEST_F(SettleTest, PausesThoughThePolicyHasNoBackoff) {
  ScriptedService service({.retry = {.backoff_first = absl::ZeroDuration()}});
  service.commit.OtherwiseFail(Broken());
  std::vector<absl::Time> starts;
  EXPECT_FALSE(Settle(service.client().core(), absl::Seconds(1), [&](const CallOptions&) {
                 starts.push_back(service.clock.Now());
                 return absl::UnavailableError("x");
               }).ok());
  ASSERT_THAT(starts, SizeIs(AllOf(Ge(10), Le(51))));
  EXPECT_EQ(starts[1] - starts[0], kPauseMin);
}

TEST_F(SettleTest, TakesAnExceptionForNoAnswer) {
  int attempts = 0;
  EXPECT_TRUE(Settle(client_.core(), kBudget, [&](const CallOptions&) {
                if (++attempts < 3) throw std::bad_alloc();
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(attempts, 3);
}

}  // namespace
}  // namespace onced::client
