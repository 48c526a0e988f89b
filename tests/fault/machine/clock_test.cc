// The machine's clock is set, far and near, ahead and back, while the server runs
// and while it is down. No lease lapses by that, nothing expires early or comes back.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/admin_client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fault/machine/faulty_server.h"
#include "tests/integration/api.h"
#include "tests/integration/http.h"
#include "tests/integration/server_process.h"

namespace onced::fault {
namespace {

using integration::Api;
using integration::ConnectTo;
using integration::ToTime;
using integration::WithLease;
namespace v1 = integration::v1;
using testing::HasSubstr;
using testing::Not;

// What may pass in a test on a slow machine, and what a start resumes ahead by.
constexpr absl::Duration kSlack = absl::Seconds(40);
constexpr absl::Duration kLease = absl::Minutes(10);
constexpr absl::Duration kYear = absl::Hours(365 * 24);

class Clock : public testing::Test {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override { End(); }

  void Start(std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), {"--clock-file", dir_.Path("ahead")});
    ++starts_;
    server_.emplace(ServerArgs(FaultyBinary(), dir_.Path("data"), flags));
    if (!server_->serving()) throw std::runtime_error(server_->process().err().AllText());
    api_ = std::make_unique<Api>(ConnectTo(server_->address()));
  }
  void End() {
    server_->process().Signal(SIGKILL);
    server_->process().Wait();
  }
  // The wall clock is ahead of the real one from now on.
  void SetAhead(absl::Duration ahead) const {
    dir_.Write("new", absl::StrCat(absl::ToDoubleSeconds(ahead)));
    std::filesystem::rename(dir_.Path("new"), dir_.Path("ahead"));
  }

  absl::Time ServerTime() { return ToTime(api_->Reserve("time").server_time()); }
  double StepMetric() {
    const auto reply = integration::HttpGet(server_->http_address(), "/metrics");
    return integration::ParseMetrics(reply.body).at("idempotency_clock_step_seconds");
  }
  std::string Log() { return server_->process().err().Text(); }

  // As `oncectl clock accept` does. How far the wall clock was ahead.
  absl::Duration Accept() {
    client::AdminClient admin = client::AdminClient::Connect(server_->admin_address());
    const auto accepted = admin.AcceptClock({});
    if (!accepted.ok()) throw std::runtime_error(std::string(accepted.status().message()));
    return absl::Seconds(accepted->step().seconds()) + absl::Nanoseconds(accepted->step().nanos());
  }

  // Keys in every state, and what they were told.
  void Fill() {
    held_ = api_->Grant("held", WithLease(kLease));
    done_ = api_->Commit("done", api_->Grant("done").token(), integration::ResultOf(200, "done"));
    v1::CommitRequest brief =
        integration::CommitOf("brief", api_->Grant("brief").token(), integration::ResultOf(1, "x"));
    *brief.mutable_retention_ttl() = integration::ToProto(absl::Seconds(1));
    EXPECT_TRUE(api_->Commit(brief).ok());
    api_->Grant("lapsed", WithLease(absl::Milliseconds(100)));
    api_->AwaitState("brief", v1::STATE_ABSENT);
    api_->AwaitState("lapsed", v1::STATE_LAPSED);
    filled_ = ServerTime();
    last_fence_ = held_.fence();
  }

  // All is as it was, but for the little time that has passed since.
  void ExpectUntouched() {
    const v1::Record held = api_->Inspect("held");
    EXPECT_EQ(held.state(), v1::STATE_PENDING);
    EXPECT_GE(ToTime(held.lease_expire_time()), ToTime(held_.lease_expire_time()));
    EXPECT_EQ(api_->Reserve("held").outcome(), v1::OUTCOME_CONFLICT);
    const v1::ReserveResponse done = api_->Reserve("done");
    EXPECT_EQ(done.outcome(), v1::OUTCOME_REPLAYED);
    EXPECT_TRUE(integration::Same(done.replay().expire_time(), done_.expire_time()));
    EXPECT_EQ(api_->Inspect("brief").state(), v1::STATE_ABSENT);
    // After a start it may be under the grace of the outage, for which the last
    // second before it counts as well.
    const v1::State lapsed = api_->Inspect("lapsed").state();
    EXPECT_TRUE(lapsed == v1::STATE_LAPSED || (starts_ > 1 && lapsed == v1::STATE_PENDING));
    const absl::Time now = ServerTime();
    EXPECT_GE(now, filled_);
    EXPECT_LE(now, filled_ + kSlack);
    ExpectFencesGrow();
  }
  void ExpectFencesGrow() {
    const v1::Reservation grant = api_->Grant("again");
    EXPECT_GT(grant.fence(), last_fence_);
    EXPECT_GE(grant.fence(), absl::ToUnixMicros(filled_));
    last_fence_ = grant.fence();
    EXPECT_TRUE(api_->Release("again", grant.token()));
  }
  void ExpectNotBelieved(absl::Duration step) {
    EXPECT_NEAR(StepMetric(), absl::ToDoubleSeconds(step), absl::ToDoubleSeconds(kSlack));
    EXPECT_THAT(Log(), HasSubstr("\"event\":\"clock_step_not_believed\""));
  }
  void ExpectFollowed() {
    EXPECT_EQ(StepMetric(), 0);
    EXPECT_THAT(Log(), Not(HasSubstr("clock_step_not_believed")));
  }

  const integration::TempDir dir_;
  std::optional<Started> server_;
  std::unique_ptr<Api> api_;
  int starts_ = 0;
  v1::Reservation held_;
  v1::CommitResponse done_;
  absl::Time filled_;
  std::int64_t last_fence_ = 0;
};

// ---- While it runs ----

struct Step {
  const char* name;
  absl::Duration ahead;
};
void PrintTo(const Step& step, std::ostream* os) { *os << step.name; }
std::string NameOf(const testing::TestParamInfo<Step>& info) { return info.param.name; }

class Unbelieved : public Clock, public testing::WithParamInterface<Step> {};
INSTANTIATE_TEST_SUITE_P(, Unbelieved,
                         testing::Values(Step{"SecondsAhead", absl::Seconds(90)},
                                         Step{"SecondsBack", -absl::Seconds(90)},
                                         Step{"AnHourAhead", absl::Hours(1)},
                                         Step{"AnHourBack", -absl::Hours(1)},
                                         Step{"AYearAhead", kYear}, Step{"AYearBack", -kYear}),
                         NameOf);

TEST_P(Unbelieved, WhileItRuns) {
  Fill();
  SetAhead(GetParam().ahead);
  ExpectUntouched();
  ExpectNotBelieved(GetParam().ahead);
  SetAhead(absl::ZeroDuration());
  ExpectUntouched();
  EXPECT_EQ(StepMetric(), 0);
  EXPECT_THAT(Log(), HasSubstr("\"event\":\"clock_followed_again\""));
}

// Again and again, by other distances each time: no sum of steps is believed.
TEST_P(Unbelieved, WhileItRunsAndOften) {
  Fill();
  for (int i = 1; i <= 20; ++i) {
    SetAhead(GetParam().ahead * i);
    EXPECT_EQ(api_->Reserve("held").outcome(), v1::OUTCOME_CONFLICT);
  }
  ExpectUntouched();
  ExpectNotBelieved(GetParam().ahead * 20);
}

// The step came while it ran; then it was killed, and starts with the clock as it is.
TEST_P(Unbelieved, ThenKilledAndStartedWithItSetRight) {
  Fill();
  SetAhead(GetParam().ahead);
  ExpectUntouched();
  End();
  SetAhead(absl::ZeroDuration());
  Start();
  ExpectUntouched();
  ExpectFollowed();
}

TEST_F(Clock, ALittleIsFollowed) {
  Fill();
  SetAhead(absl::Milliseconds(500));
  ExpectUntouched();
  SetAhead(-absl::Seconds(5));  // Time passes more slowly until they agree.
  ExpectUntouched();
  ExpectFollowed();
}

// ---- While it is down ----

class UnbelievedAtStart : public Clock, public testing::WithParamInterface<Step> {};
INSTANTIATE_TEST_SUITE_P(, UnbelievedAtStart,
                         testing::Values(Step{"SecondsBack", -absl::Seconds(90)},
                                         Step{"AnHourBack", -absl::Hours(1)},
                                         Step{"AYearBack", -kYear}, Step{"AYearAhead", kYear},
                                         Step{"ADayTooMuch", absl::Hours(8 * 24)}),
                         NameOf);

TEST_P(UnbelievedAtStart, NothingHappens) {
  Fill();
  End();
  SetAhead(GetParam().ahead);
  Start();
  ExpectUntouched();
  ExpectNotBelieved(GetParam().ahead);
  End();  // Nor by a second start.
  Start();
  ExpectUntouched();
  ExpectNotBelieved(GetParam().ahead);
}

// Within max_downtime it is taken for an outage: leases have a grace, results go on
// until their time.
TEST_F(Clock, AnHourDownIsBelieved) {
  Fill();
  End();
  SetAhead(absl::Hours(1));
  Start();
  EXPECT_EQ(api_->Inspect("held").state(), v1::STATE_PENDING) << "restart_grace is 15 s";
  EXPECT_EQ(api_->Reserve("done").outcome(), v1::OUTCOME_REPLAYED);
  EXPECT_EQ(api_->Inspect("brief").state(), v1::STATE_ABSENT);
  EXPECT_GE(ServerTime(), filled_ + absl::Hours(1) - absl::Seconds(1));
  ExpectFencesGrow();
  ExpectFollowed();
  // Back again: time doesn't.
  End();
  SetAhead(absl::ZeroDuration());
  Start();
  EXPECT_GE(ServerTime(), filled_ + absl::Hours(1) - absl::Seconds(1));
  EXPECT_EQ(api_->Inspect("brief").state(), v1::STATE_ABSENT);
  ExpectFencesGrow();
  ExpectNotBelieved(-absl::Hours(1));
}

TEST_F(Clock, AShorterMaxDowntimeIsObeyed) {
  Fill();
  End();
  SetAhead(absl::Hours(1));
  Start({"--max-downtime", "30m"});
  ExpectUntouched();
  ExpectNotBelieved(absl::Hours(1));
}

// ---- An operator says that it is right ----

TEST_F(Clock, AYearAheadIsAccepted) {
  Fill();
  End();
  SetAhead(kYear);
  Start();
  ExpectUntouched();
  End();
  Start({"--accept-clock", "yes"});
  EXPECT_GE(ServerTime(), filled_ + kYear - absl::Seconds(1));
  EXPECT_EQ(StepMetric(), 0);
  EXPECT_EQ(api_->Inspect("held").state(), v1::STATE_PENDING) << "restart_grace is 15 s";
  EXPECT_EQ(api_->Inspect("done").state(), v1::STATE_ABSENT) << "its 24 hours are over";
  EXPECT_EQ(api_->Inspect("brief").state(), v1::STATE_ABSENT);
  ExpectFencesGrow();
  // It need not be said again.
  End();
  Start();
  EXPECT_GE(ServerTime(), filled_ + kYear - absl::Seconds(1));
  ExpectFollowed();
}

TEST_F(Clock, AYearBackIsAccepted) {
  Fill();
  End();
  SetAhead(-kYear);
  Start({"--accept-clock", "yes"});
  ExpectUntouched();
  EXPECT_EQ(StepMetric(), 0);
  SetAhead(-kYear - absl::Hours(1));  // From now on it is compared with that.
  ExpectUntouched();
  ExpectNotBelieved(-absl::Hours(1));
}

TEST_F(Clock, AnHourAheadIsAcceptedWhileItRuns) {
  Fill();
  SetAhead(absl::Hours(1));
  ExpectUntouched();
  EXPECT_NEAR(absl::ToDoubleSeconds(Accept()), 3'600, absl::ToDoubleSeconds(kSlack));
  EXPECT_GE(ServerTime(), filled_ + absl::Hours(1) - absl::Seconds(1));
  EXPECT_EQ(StepMetric(), 0);
  EXPECT_THAT(Log(), HasSubstr("\"event\":\"clock_step_accepted\""));
  EXPECT_EQ(api_->Inspect("held").state(), v1::STATE_LAPSED) << "its 10 minutes are over";
  EXPECT_EQ(api_->Reserve("done").outcome(), v1::OUTCOME_REPLAYED);
  ExpectFencesGrow();
  EXPECT_EQ(Accept(), absl::ZeroDuration());
}

// Time goes on as before; from now on the clock is compared from where it is.
TEST_F(Clock, AnHourBackIsAcceptedWhileItRuns) {
  Fill();
  SetAhead(-absl::Hours(1));
  ExpectUntouched();
  EXPECT_NEAR(absl::ToDoubleSeconds(Accept()), -3'600, absl::ToDoubleSeconds(kSlack));
  ExpectUntouched();
  EXPECT_EQ(StepMetric(), 0);
  SetAhead(-absl::Minutes(59));
  ExpectUntouched();
  ExpectNotBelieved(absl::Minutes(1));
}

}  // namespace
}  // namespace onced::fault
