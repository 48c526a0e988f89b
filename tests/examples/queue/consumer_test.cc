// What becomes of an entry, for each outcome: with a real Redis, and the fake of onced.
#include "client/examples/queue/consumer.h"

#include <fstream>

#include "client/examples/queue/shipping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onced/client/error.h"
#include "onced/client/fake_server.h"
#include "onced/client/fingerprint.h"
#include "tests/examples/queue/redis_server.h"

namespace onced::examples {
namespace {

namespace oc = ::onced::client;
using testing::ElementsAre;
using testing::IsEmpty;

class ConsumerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "redis-server isn't installed";
    redis_ = std::make_unique<RedisServer>();
    auto queue = JobQueue::Open(redis_->address(), {.consumer = "c"});
    ASSERT_TRUE(queue.ok()) << queue.status();
    queue_.emplace(*std::move(queue));
    auto probe = Redis::Connect(redis_->address());
    ASSERT_TRUE(probe.ok()) << probe.status();
    probe_.emplace(*std::move(probe));
  }

  void Add(const std::string& job, const std::string& payload) {
    ASSERT_TRUE(queue_->Add(job, payload).ok());
  }
  void HandleNext() {
    const auto entries = queue_->Next(absl::Milliseconds(1));
    ASSERT_TRUE(entries.ok()) << entries.status();
    HandleAll(*entries, 1);
  }
  // Those that were left in the queue.
  void HandleAgain(std::size_t count = 1) {
    const auto entries = queue_->Abandoned(absl::ZeroDuration(), 10);
    ASSERT_TRUE(entries.ok()) << entries.status();
    HandleAll(*entries, count);
  }
  void HandleAll(const std::vector<Entry>& entries, std::size_t count) {
    EXPECT_EQ(entries.size(), count);
    for (const Entry& entry : entries) {
      ASSERT_TRUE(Handle(entry, client_, *queue_, carrier_, options_).ok());
    }
  }

  std::int64_t Pending() {
    const auto reply = probe_->Call({"XPENDING", "jobs", "shippers"});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return (*reply)->element[0]->integer;
  }
  // "JOB: REASON" of each.
  std::vector<std::string> Dead() {
    const auto reply = probe_->Call({"XRANGE", "jobs-dead", "-", "+"});
    EXPECT_TRUE(reply.ok()) << reply.status();
    std::vector<std::string> dead;
    for (std::size_t i = 0; i < (*reply)->elements; ++i) {
      const redisReply& fields = *(*reply)->element[i]->element[1];
      dead.push_back(TextOf(*fields.element[1]) + ": " + TextOf(*fields.element[5]));
    }
    return dead;
  }
  // "JOB STEP" of each.
  std::vector<std::string> Orders() const {
    std::vector<std::string> orders;
    std::ifstream file(dir_.Path("orders"));
    std::string job;
    std::string step;
    std::string fence;
    while (file >> job >> step >> fence) orders.push_back(job + " " + step);
    return orders;
  }

  // A holder that saved this checkpoint and died; its lease is over.
  void VanishAfter(const std::string& job, const std::string& payload,
                   const std::string& checkpoint) {
    auto outcome = client_.Reserve(KeyOf(job), {.fingerprint = FingerprintOf(payload)});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    auto& reservation = std::get<oc::Fresh>(*outcome).reservation;
    if (!checkpoint.empty()) {
      ASSERT_TRUE(reservation.Extend({.checkpoint = checkpoint}).ok());
    }
    fake_.Advance(absl::Hours(1));
  }
  static oc::Key KeyOf(const std::string& job) { return {"shipping", job}; }
  static std::string FingerprintOf(const std::string& payload) {
    return oc::RequestFingerprint("SHIP", "", payload);
  }

  std::unique_ptr<RedisServer> redis_;
  std::optional<JobQueue> queue_;
  std::optional<Redis> probe_;
  const integration::TempDir dir_;
  Carrier carrier_{dir_.Path("orders"), absl::ZeroDuration()};
  oc::FakeServer fake_{{.time_stands_still = true}};
  const oc::Client client_ = fake_.client();
  ConsumerOptions options_{.wait_timeout = absl::ZeroDuration(), .attempts_max = 3};
};

TEST_F(ConsumerTest, AJobAndItsDuplicateAreDoneOnce) {
  Add("j", "Main Street 1");
  Add("j", "Main Street 1");
  HandleNext();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
  HandleNext();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
  EXPECT_EQ(Pending(), 0);
  EXPECT_THAT(Dead(), IsEmpty());
}

TEST_F(ConsumerTest, WhatAnotherIsAtStays) {
  const auto other = client_.Reserve(KeyOf("j"), {.fingerprint = FingerprintOf("here")});
  ASSERT_TRUE(other.ok());
  Add("j", "here");
  HandleNext();
  EXPECT_THAT(Orders(), IsEmpty());
  EXPECT_EQ(Pending(), 1);
  fake_.Advance(absl::Minutes(2));
  HandleAgain();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
  EXPECT_EQ(Pending(), 0);
}

// Whoever takes over asks for the one step that is in doubt, and does the rest.
TEST_F(ConsumerTest, ATakeoverGoesOnFromTheCheckpoint) {
  ASSERT_TRUE(carrier_.Order("j", 0, 1, Carrier::Unless::kNever).ok());
  ASSERT_TRUE(carrier_.Order("j", 1, 1, Carrier::Unless::kNever).ok());
  VanishAfter("j", "here", "1");
  Add("j", "here");
  HandleNext();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
}
TEST_F(ConsumerTest, ATakeoverDoesWhatWasNotDone) {
  ASSERT_TRUE(carrier_.Order("j", 0, 1, Carrier::Unless::kNever).ok());
  VanishAfter("j", "here", "1");
  Add("j", "here");
  HandleNext();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
}
TEST_F(ConsumerTest, ATakeoverWithoutACheckpointAsksForTheFirstStep) {
  ASSERT_TRUE(carrier_.Order("j", 0, 1, Carrier::Unless::kNever).ok());
  VanishAfter("j", "here", "");
  Add("j", "here");
  HandleNext();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
}

TEST_F(ConsumerTest, TheCarrierRefusesWhoWasTakenOver) {
  ASSERT_TRUE(carrier_.Order("j", 0, 2, Carrier::Unless::kNever).ok());
  EXPECT_TRUE(absl::IsAborted(carrier_.Order("j", 1, 1, Carrier::Unless::kNever)));
  EXPECT_THAT(Orders(), ElementsAre("j 0"));
}

TEST_F(ConsumerTest, OneIdForTwoJobsIsBuried) {
  Add("j", "here");
  Add("j", "there");
  HandleNext();
  HandleNext();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
  EXPECT_THAT(Dead(), ElementsAre("j: the ID is another job's"));
  EXPECT_EQ(Pending(), 0);
}

TEST_F(ConsumerTest, WhatFailsAgainAndAgainIsGivenUp) {
  Add("j", "nowhere");
  HandleNext();
  HandleAgain();
  EXPECT_THAT(Dead(), IsEmpty());
  EXPECT_EQ(Pending(), 1);
  HandleAgain();
  EXPECT_THAT(Dead(), ElementsAre("j: no carrier goes there today"));
  EXPECT_EQ(Pending(), 0);
  // So is each duplicate, at once, and is no second one among the dead.
  Add("j", "nowhere");
  HandleNext();
  EXPECT_THAT(Dead(), ElementsAre("j: no carrier goes there today"));
  EXPECT_EQ(Pending(), 0);
  EXPECT_THAT(Orders(), IsEmpty());
}

TEST_F(ConsumerTest, WhatKillsItsWorkersIsGivenUp) {
  for (int i = 0; i < 3; ++i) VanishAfter("j", "explosive", "1");
  Add("j", "explosive");
  HandleNext();
  EXPECT_THAT(Dead(), ElementsAre("j: every worker died after step 1"));
  EXPECT_EQ(Pending(), 0);
}

TEST_F(ConsumerTest, WhatCannotBeIsGivenUpAtOnce) {
  Add("j", "");
  Add("", "here");
  HandleNext();
  HandleNext();
  EXPECT_THAT(Dead(), ElementsAre("j: no address", ": it has no job_id"));
  EXPECT_EQ(Pending(), 0);
}

TEST_F(ConsumerTest, WithoutTheServiceNothingIsDone) {
  fake_.Stop();
  Add("j", "here");
  HandleNext();
  EXPECT_THAT(Orders(), IsEmpty());
  EXPECT_EQ(Pending(), 1);
  fake_.Start();
  HandleAgain();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
  EXPECT_EQ(Pending(), 0);
}

// Done, and another has it by now: looked at again, and found done.
TEST_F(ConsumerTest, WhatWasDoneAndNotStoredIsFound) {
  fake_.FailNext(
      1,
      oc::ToAbslStatus(oc::ErrorDetails{
          .code = absl::StatusCode::kAborted, .reason = "SUPERSEDED", .domain = oc::kDomain}),
      oc::Rpc::kCommit);
  Add("j", "here");
  HandleNext();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
  EXPECT_EQ(Pending(), 1);
  fake_.Advance(absl::Hours(1));
  HandleAgain();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
  EXPECT_EQ(Pending(), 0);
}

TEST_F(ConsumerTest, WithoutACheckpointNoStepIsBegun) {
  fake_.FailNext(
      1,
      oc::ToAbslStatus(oc::ErrorDetails{
          .code = absl::StatusCode::kAborted, .reason = "SUPERSEDED", .domain = oc::kDomain}),
      oc::Rpc::kExtend);
  Add("j", "here");
  HandleNext();
  EXPECT_THAT(Orders(), ElementsAre("j 0"));
  EXPECT_EQ(Pending(), 1);
  fake_.Advance(absl::Hours(1));
  HandleAgain();
  EXPECT_THAT(Orders(), ElementsAre("j 0", "j 1", "j 2"));
  EXPECT_EQ(Pending(), 0);
}

}  // namespace
}  // namespace onced::examples
