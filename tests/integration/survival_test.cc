// What was acknowledged is there after the server was stopped, and after it was
// killed.
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

constexpr absl::Duration kShortest = absl::Milliseconds(100);

// The two ways of ending, as tests' parameters.
struct Ending {
  const char* name;
  void (*end)(ServerProcess&);
};
void PrintTo(const Ending& ending, std::ostream* os) { *os << ending.name; }

class Survival : public testing::TestWithParam<Ending> {
 protected:
  // Ends the server and starts it again.
  void Cycle() {
    GetParam().end(server_);
    server_.Start();
    api_ = std::make_unique<Api>(server_.Connect());
  }

  ServerProcess server_{
      {.flags = {"--restart-grace", "1s"}, .config = "namespaces:\n  held: {on_lapse: HOLD}\n"}};
  std::unique_ptr<Api> api_ = std::make_unique<Api>(server_.Connect());
};

INSTANTIATE_TEST_SUITE_P(
    , Survival,
    testing::Values(Ending{"Stopped", [](ServerProcess& server) { EXPECT_EQ(server.Stop(), 0); }},
                    Ending{"Killed", [](ServerProcess& server) { server.Kill9(); }}),
    [](const auto& param) { return param.param.name; });

TEST_P(Survival, ACommitIsReplayedByteForByte) {
  const v1::Reservation grant = api_->Grant("k", WithFingerprint("fp"));
  const v1::CommitResponse commit = api_->Commit("k", grant.token(), AwkwardResult());
  v1::Replay first;
  for (int cycle = 0; cycle < 3; ++cycle) {
    const v1::ReserveResponse response = api_->Reserve("k", WithFingerprint("fp"));
    ASSERT_EQ(response.outcome(), v1::OUTCOME_REPLAYED);
    if (cycle == 0) first = response.replay();
    EXPECT_TRUE(Same(response.replay(), first)) << "cycle " << cycle;
    EXPECT_EQ(api_->Reserve("k", WithFingerprint("other")).outcome(), v1::OUTCOME_MISMATCH);
    Cycle();
  }
  EXPECT_EQ(first.result().body(), AwkwardResult().body());
  ASSERT_EQ(first.result().headers_size(), AwkwardResult().headers_size());
  for (int i = 0; i < first.result().headers_size(); ++i) {
    EXPECT_TRUE(Same(first.result().headers(i), AwkwardResult().headers(i))) << i;
  }
  EXPECT_TRUE(api_->Commit("k", grant.token(), AwkwardResult()).already_committed());
  EXPECT_EQ(api_->Commit(CommitOf("k", grant.token(), {})).error().reason, "COMMITTED_DIFFERENTLY");
  EXPECT_TRUE(
      Same(api_->Reserve("k", WithFingerprint("fp")).replay().expire_time(), commit.expire_time()));
}

TEST_P(Survival, AnOmittedBodyStaysOmitted) {
  const v1::Reservation grant = api_->Grant("k");
  api_->Commit("k", grant.token(), ResultOf(200, std::string((1 << 20) + 1, 'b')));
  const v1::Replay first = api_->Reserve("k").replay();
  Cycle();
  EXPECT_TRUE(Same(api_->Reserve("k").replay(), first));
  EXPECT_TRUE(first.result().body_omitted());
}

TEST_P(Survival, AGrantIsStillItsHolders) {
  const auto mine = [](v1::ReserveRequest& request) {
    request.set_owner("worker-1");
    request.set_request_id("run-1");
    request.set_fingerprint("fp");
    *request.mutable_lease_ttl() = ToProto(absl::Hours(1));
  };
  const v1::Reservation grant = api_->Grant("k", mine);
  const v1::Record before = api_->Inspect("k");
  Cycle();
  EXPECT_TRUE(Same(api_->Inspect("k"), before));
  EXPECT_EQ(api_->Reserve("k", WithFingerprint("fp")).outcome(), v1::OUTCOME_CONFLICT);
  EXPECT_TRUE(Same(api_->Grant("k", mine), grant)) << "regained by its request_id";
  Cycle();
  EXPECT_FALSE(api_->Commit("k", grant.token(), ResultOf(200, "done")).late());
  Cycle();
  EXPECT_EQ(api_->Reserve("k", WithFingerprint("fp")).replay().fence(), grant.fence());
}

TEST_P(Survival, AnExtensionAndItsCheckpointAreKept) {
  const v1::Reservation grant = api_->Grant("k", WithLease(absl::Minutes(1)));
  v1::ExtendRequest extend = ExtendOf("k", grant.token());
  *extend.mutable_lease_ttl() = ToProto(absl::Hours(2));
  extend.set_checkpoint(std::string("\0\xff", 2));
  const v1::ExtendResponse extended = api_->Extend(extend).value();
  Cycle();
  const v1::Record record = api_->Inspect("k");
  EXPECT_EQ(record.state(), v1::STATE_PENDING);
  EXPECT_TRUE(Same(record.lease_expire_time(), extended.lease_expire_time()));
  EXPECT_EQ(record.checkpoint(), std::string("\0\xff", 2));
}

TEST_P(Survival, AReleasedKeyStaysFreeAndItsFenceGrows) {
  const v1::Reservation first = api_->Grant("k");
  ASSERT_TRUE(api_->Release("k", first.token()));
  Cycle();
  EXPECT_EQ(api_->Inspect("k").state(), v1::STATE_ABSENT);
  const v1::Reservation second = api_->Grant("k");
  EXPECT_GT(second.fence(), first.fence());
  EXPECT_EQ(second.attempt(), 1);
  EXPECT_EQ(api_->Release(ReleaseOf("k", first.token())).error().reason, "SUPERSEDED");
}

TEST_P(Survival, AFenceGrowsThroughEveryCycle) {
  std::int64_t last = 0;
  for (int cycle = 0; cycle < 3; ++cycle) {
    for (int i = 0; i < 3; ++i) {
      const v1::Reservation grant = api_->Grant("k");
      EXPECT_GT(grant.fence(), last);
      last = grant.fence();
      EXPECT_TRUE(api_->Release("k", grant.token()));
    }
    Cycle();
  }
}

TEST_P(Survival, AnUnresolvedKeyStaysUnresolvedUntilItsLateCommit) {
  v1::ReserveRequest reserve = ReserveOf("k");
  reserve.set_namespace_("held");
  *reserve.mutable_lease_ttl() = ToProto(kShortest);
  const std::string token = api_->Reserve(reserve).value().reservation().token();
  const auto await_unresolved = [&] {
    Await("UNRESOLVED",
          [&] { return api_->Reserve(reserve).value().outcome() == v1::OUTCOME_UNRESOLVED; });
  };
  await_unresolved();
  Cycle();
  await_unresolved();
  v1::CommitRequest commit = CommitOf("k", token, ResultOf(200, "late"));
  commit.set_namespace_("held");
  EXPECT_TRUE(api_->Commit(commit).value().late());
  Cycle();
  EXPECT_EQ(api_->Reserve(reserve).value().replay().result().body(), "late");
}

// A lease that runs out while the server is down is honoured for the grace.
TEST_P(Survival, AnOutageIsNoTakeover) {
  const v1::Reservation grant = api_->Grant("k", WithLease(absl::Milliseconds(1'500)));
  GetParam().end(server_);
  const absl::Time end = ToTime(grant.lease_expire_time());
  // The server's clock is at most a little ahead of this one: see its clock mark.
  Await("the lease's end", [&] { return absl::Now() > end + absl::Seconds(1); });
  const absl::Time down_until = absl::Now();
  server_.Start();
  api_ = std::make_unique<Api>(server_.Connect());

  v1::InspectResponse response = api_->Inspect(InspectOf("k")).value();
  Await("LAPSED", [&] {
    response = api_->Inspect(InspectOf("k")).value();
    return response.record().state() != v1::STATE_PENDING;
  });
  EXPECT_EQ(response.record().state(), v1::STATE_LAPSED);
  EXPECT_GE(ToTime(response.server_time()), down_until + absl::Seconds(1)) << "the grace is 1 s";
  const v1::Reservation second = api_->Grant("k");
  EXPECT_EQ(second.attempt(), 2);
  EXPECT_EQ(second.previous().fence(), grant.fence());
}

TEST_P(Survival, WithoutGraceAnOutageEndsLeases) {
  server_.options().flags = {"--restart-grace", "0s"};
  Cycle();
  const v1::Reservation grant = api_->Grant("k", WithLease(kShortest));
  GetParam().end(server_);
  const absl::Time end = ToTime(grant.lease_expire_time());
  Await("the lease's end", [&] { return absl::Now() > end; });
  server_.Start();
  api_ = std::make_unique<Api>(server_.Connect());
  EXPECT_EQ(api_->Inspect("k").state(), v1::STATE_LAPSED);
  EXPECT_EQ(api_->Grant("k").attempt(), 2);
}

TEST_P(Survival, AnotherNumberOfExecutorsFindsEverything) {
  constexpr int kKeys = 40;
  std::map<std::string, v1::Reservation> grants;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = "k" + std::to_string(i);
    grants[key] = api_->Grant(key);
    if (i % 2 == 0) api_->Commit(key, grants[key].token(), ResultOf(200, key));
  }
  for (const char* executors : {"1", "3", "16", "256"}) {
    server_.options().flags = {"--executors", executors};
    Cycle();
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = "k" + std::to_string(i);
      const v1::ReserveResponse response = api_->Reserve(key);
      if (i % 2 == 0) {
        EXPECT_EQ(response.replay().result().body(), key) << executors;
      } else {
        EXPECT_EQ(response.holder().fence(), grants[key].fence()) << executors;
      }
    }
  }
}

// Under load, until the very end: what a caller was told is so.
TEST_P(Survival, NothingAcknowledgedUnderLoadIsLost) {
  constexpr int kCallers = 4;
  constexpr int kEnough = 100;  // Commits, before the end comes.
  std::atomic<int> commits{0};
  std::map<std::string, v1::Reservation> granted[kCallers];
  std::map<std::string, v1::Reservation> committed[kCallers];
  const auto work = [&](int caller) {
    Api api(server_.Connect());
    for (int i = 0;; ++i) {
      const std::string key = std::to_string(caller) + "-" + std::to_string(i);
      const auto reserved = api.Reserve(ReserveOf(key));
      if (!reserved.ok()) return;
      granted[caller][key] = reserved.response.reservation();
      const std::string& token = reserved.response.reservation().token();
      if (!api.Commit(CommitOf(key, token, ResultOf(200, key))).ok()) return;
      committed[caller][key] = reserved.response.reservation();
      ++commits;
    }
  };
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) callers.emplace_back(work, caller);
  Await("enough commits", [&] { return commits >= kEnough; });
  GetParam().end(server_);
  for (std::thread& caller : callers) caller.join();
  server_.Start();
  Api api(server_.Connect());
  for (int caller = 0; caller < kCallers; ++caller) {
    for (const auto& [key, grant] : granted[caller]) {
      const v1::Record record = api.Inspect(key, true);
      EXPECT_EQ(record.fence(), grant.fence()) << key;
      if (committed[caller].contains(key)) {
        EXPECT_EQ(record.state(), v1::STATE_COMMITTED) << key;
        EXPECT_EQ(record.result().body(), key);
      }
    }
  }
}

TEST(SurvivalOfTheProcess, WithProcessDurabilityAKilledProcessLosesNothing) {
  ServerProcess server({.flags = {"--durability", "process"}});
  std::vector<v1::Reservation> grants;
  {
    Api api(server.Connect());
    for (int i = 0; i < 50; ++i) grants.push_back(api.Grant("k" + std::to_string(i)));
  }
  server.Kill9();
  server.Start();
  Api api(server.Connect());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(api.Inspect("k" + std::to_string(i)).fence(), grants[i].fence()) << i;
  }
}

}  // namespace
}  // namespace onced::integration
