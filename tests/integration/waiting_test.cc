// Section 4 of docs/protocol.md: waiting, with many callers at once.
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/async_reserve.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

constexpr absl::Duration kLong = absl::Seconds(60);
// Half of the streams that a connection may have.
constexpr int kParkedPerConnection = 128;

class Waiting : public testing::Test {
 protected:
  // A Reserve that waits, over that connection.
  std::unique_ptr<AsyncReserve> Wait(Api& api, const std::string& key,
                                     const Api::ReserveChange& change = nullptr) {
    v1::ReserveRequest request = ReserveOf(key);
    WithWait(kLong)(request);
    if (change) change(request);
    return std::make_unique<AsyncReserve>(api, request);
  }
  // Parks `count` more Reserves, spread over the connections.
  void Park(const std::string& key, int count) {
    for (int i = 0; i < count; ++i) {
      waiters_.push_back(Wait(*connections_[i % connections_.size()], key));
    }
    server_.AwaitWaiters(static_cast<int>(waiters_.size()));
  }
  void Connect(int count) {
    for (int i = 0; i < count; ++i) {
      connections_.push_back(std::make_unique<Api>(server_.Connect()));
    }
  }

  ServerProcess server_{{.config = R"(
namespaces:
  held: {on_lapse: HOLD}
  patient: {wait: {default: 60s}}
  crowded: {waiters_per_key_max: 2, waiters_max: 3}
  none: {waiters_per_key_max: 0}
)"}};
  Api api_{server_.Connect()};
  std::vector<std::unique_ptr<Api>> connections_;
  AsyncReserves waiters_;
};

TEST_F(Waiting, AThousandCallersOfOneKeyGetOneGrant) {
  constexpr int kCallers = 1'000;
  Connect(8);
  for (int i = 0; i < kCallers; ++i) {
    waiters_.push_back(
        std::make_unique<AsyncReserve>(*connections_[i % connections_.size()], ReserveOf("k")));
  }
  EXPECT_EQ(CountOf(waiters_, v1::OUTCOME_FRESH), 1);
  EXPECT_EQ(CountOf(waiters_, v1::OUTCOME_CONFLICT), kCallers - 1);
  std::set<std::int64_t> fences;
  for (const auto& waiter : waiters_) {
    const v1::ReserveResponse& response = waiter->Get().response;
    fences.insert(response.has_reservation() ? response.reservation().fence()
                                             : response.holder().fence());
  }
  EXPECT_EQ(fences.size(), 1) << "all speak of the one grant";
}

TEST_F(Waiting, ACommitWakesAllWithTheReplay) {
  constexpr int kWaiters = 200;
  Connect(4);
  const v1::Reservation grant = api_.Grant("k");
  Park("k", kWaiters);
  EXPECT_EQ(CountAnswered(waiters_), 0);
  const v1::CommitResponse commit = api_.Commit("k", grant.token(), AwkwardResult());
  EXPECT_EQ(CountOf(waiters_, v1::OUTCOME_REPLAYED), kWaiters);
  for (const auto& waiter : waiters_) {
    const v1::Replay& replay = waiter->Get().response.replay();
    EXPECT_EQ(replay.result().body(), AwkwardResult().body());
    EXPECT_EQ(replay.fence(), grant.fence());
    EXPECT_TRUE(Same(replay.commit_time(), commit.commit_time()));
  }
  server_.AwaitWaiters(0);
}

TEST_F(Waiting, AReleaseGivesTheKeyToTheLongestWaitingAlone) {
  constexpr int kWaiters = 200;
  Connect(4);
  const v1::Reservation grant = api_.Grant("k");
  Park("k", 1);
  Park("k", kWaiters - 1);
  ASSERT_TRUE(api_.Release("k", grant.token()));
  ASSERT_EQ(waiters_[0]->Outcome(), v1::OUTCOME_FRESH);
  const v1::Reservation next = waiters_[0]->Get().response.reservation();
  EXPECT_GT(next.fence(), grant.fence());
  EXPECT_EQ(next.attempt(), 1);
  server_.AwaitWaiters(kWaiters - 1);
  EXPECT_EQ(CountAnswered(waiters_), 1) << "the others stay parked";
  api_.Commit("k", next.token(), ResultOf(200, "done"));
  EXPECT_EQ(CountOf(waiters_, v1::OUTCOME_REPLAYED), kWaiters - 1);
}

TEST_F(Waiting, ALapseGivesTheKeyToOne) {
  Connect(2);
  const v1::Reservation grant = api_.Grant("k", WithLease(absl::Seconds(1)));
  for (int i = 0; i < 10; ++i) waiters_.push_back(Wait(*connections_[i % 2], "k"));
  server_.AwaitWaiters(9);
  Await("the lapse", [&] { return CountAnswered(waiters_) == 1; });
  v1::Reservation next;
  for (const auto& waiter : waiters_) {
    if (waiter->IsAnswered()) next = waiter->Get().value().reservation();
  }
  EXPECT_EQ(next.attempt(), 2);
  EXPECT_EQ(next.previous().fence(), grant.fence());
  api_.Commit("k", next.token(), {});
  EXPECT_EQ(CountOf(waiters_, v1::OUTCOME_REPLAYED), 9);
}

TEST_F(Waiting, AnExtensionKeepsTheWaitersWaiting) {
  const v1::Reservation grant = api_.Grant("k", WithLease(absl::Seconds(2)));
  const auto waiter = Wait(api_, "k");
  server_.AwaitWaiters(1);
  const auto extended = api_.Extend(ExtendOf("k", grant.token()));
  if (!extended.ok()) GTEST_SKIP() << "this machine is too slow for a lease of 2 s";
  Await("the first lease's end", [&] {
    return ToTime(api_.Inspect(InspectOf("k")).value().server_time()) >
           ToTime(grant.lease_expire_time()) + absl::Milliseconds(100);
  });
  EXPECT_FALSE(waiter->IsAnswered());
  api_.Release("k", grant.token());
  EXPECT_EQ(waiter->Outcome(), v1::OUTCOME_FRESH);
}

TEST_F(Waiting, UnderHoldALapseEndsAllWaits) {
  const auto held = [](v1::ReserveRequest& request) { request.set_namespace_("held"); };
  v1::ReserveRequest first = ReserveOf("k");
  first.set_namespace_("held");
  WithLease(absl::Seconds(1))(first);
  ASSERT_EQ(api_.Reserve(first).value().outcome(), v1::OUTCOME_FRESH);
  for (int i = 0; i < 5; ++i) waiters_.push_back(Wait(api_, "k", held));
  EXPECT_EQ(CountOf(waiters_, v1::OUTCOME_UNRESOLVED), 5);
  EXPECT_EQ(waiters_[0]->Get().response.holder().state(), v1::STATE_LAPSED);
}

TEST_F(Waiting, AWaitThatIsOverEndsWithConflict) {
  const v1::Reservation grant = api_.Grant("k");
  const auto started = std::chrono::steady_clock::now();
  const v1::ReserveResponse response = api_.Reserve("k", WithWait(absl::Milliseconds(300)));
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(300));
  EXPECT_EQ(response.outcome(), v1::OUTCOME_CONFLICT);
  EXPECT_EQ(response.holder().fence(), grant.fence());
  EXPECT_GT(ToDuration(response.holder().retry_delay()), absl::ZeroDuration());
}

TEST_F(Waiting, AWaitEndsBeforeTheCallsOwnDeadline) {
  api_.Grant("k");
  v1::ReserveRequest request = ReserveOf("k");
  WithWait(kLong)(request);
  // The margin may be missed on a machine that stands still: then once more.
  Await("an answer before the deadline", [&] {
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(1);
    AsyncReserve waiter(api_, request, deadline);
    if (!waiter.Get().ok()) {
      EXPECT_EQ(waiter.Get().status.error_code(), grpc::DEADLINE_EXCEEDED);
      return false;
    }
    EXPECT_EQ(waiter.Outcome(), v1::OUTCOME_CONFLICT);
    return true;
  });
  server_.AwaitWaiters(0);
}

TEST_F(Waiting, ACancelledWaiterIsGivenNothing) {
  const v1::Reservation grant = api_.Grant("k");
  const auto first = Wait(api_, "k");
  server_.AwaitWaiters(1);
  const auto second = Wait(api_, "k");
  server_.AwaitWaiters(2);
  first->Cancel();
  server_.AwaitWaiters(1);
  EXPECT_EQ(api_.Inspect("k").fence(), grant.fence()) << "the holder's record is untouched";
  ASSERT_TRUE(api_.Release("k", grant.token()));
  EXPECT_EQ(second->Outcome(), v1::OUTCOME_FRESH);
  EXPECT_EQ(first->Get().status.error_code(), grpc::CANCELLED);
  EXPECT_EQ(api_.Inspect("k").fence(), second->Get().response.reservation().fence());
}

TEST_F(Waiting, AConnectionThatIsCutLeavesNothing) {
  const v1::Reservation grant = api_.Grant("k");
  {
    Api gone(server_.Connect());
    AsyncReserves waiters;
    for (int i = 0; i < 20; ++i) waiters.push_back(Wait(gone, "k"));
    server_.AwaitWaiters(20);
  }
  server_.AwaitWaiters(0);
  ASSERT_TRUE(api_.Release("k", grant.token()));
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_ABSENT);
}

TEST_F(Waiting, AGrantAnswersAllWhoHaveItsRequestId) {
  const auto mine = [](v1::ReserveRequest& request) { request.set_request_id("run-1"); };
  const v1::Reservation grant = api_.Grant("k");
  const auto first = Wait(api_, "k", mine);
  server_.AwaitWaiters(1);
  const auto stranger = Wait(api_, "k");
  const auto repeat = Wait(api_, "k", mine);
  server_.AwaitWaiters(3);
  ASSERT_TRUE(api_.Release("k", grant.token()));
  ASSERT_EQ(first->Outcome(), v1::OUTCOME_FRESH);
  ASSERT_EQ(repeat->Outcome(), v1::OUTCOME_FRESH);
  EXPECT_TRUE(Same(repeat->Get().response.reservation(), first->Get().response.reservation()));
  server_.AwaitWaiters(1);
  EXPECT_FALSE(stranger->IsAnswered());
}

TEST_F(Waiting, HalfOfAConnectionsStreamsAreLeftForTheHolder) {
  Connect(1);
  Api& only = *connections_[0];
  const v1::Reservation grant = only.Grant("k");
  Park("k", kParkedPerConnection);
  EXPECT_EQ(Wait(only, "k")->Outcome(), v1::OUTCOME_CONFLICT) << "one more does not wait";
  const auto elsewhere = Wait(api_, "k");
  server_.AwaitWaiters(kParkedPerConnection + 1);
  EXPECT_FALSE(elsewhere->IsAnswered()) << "another connection has a share of its own";
  only.Commit("k", grant.token(), ResultOf(200, "through"));
  EXPECT_EQ(CountOf(waiters_, v1::OUTCOME_REPLAYED), kParkedPerConnection);
  EXPECT_EQ(elsewhere->Outcome(), v1::OUTCOME_REPLAYED);

  const v1::Reservation other = only.Grant("other");
  const auto again = Wait(only, "other");
  server_.AwaitWaiters(1);
  only.Release("other", other.token());
  EXPECT_EQ(again->Outcome(), v1::OUTCOME_FRESH) << "the share is given back";
}

TEST_F(Waiting, AnAnsweredCallTakesNoShare) {
  Connect(1);
  // Each may wait, and none has to.
  for (int i = 0; i < 3 * kParkedPerConnection; ++i) {
    waiters_.push_back(Wait(*connections_[0], "k" + std::to_string(i)));
  }
  EXPECT_EQ(CountOf(waiters_, v1::OUTCOME_FRESH), 3 * kParkedPerConnection);
  waiters_.clear();
  Park("k0", kParkedPerConnection);
}

TEST_F(Waiting, WaitersOfAKeyAndOfANamespaceAreCapped) {
  const auto crowded = [](v1::ReserveRequest& request) { request.set_namespace_("crowded"); };
  const auto grant = [&](const std::string& key) {
    v1::ReserveRequest request = ReserveOf(key);
    crowded(request);
    EXPECT_EQ(api_.Reserve(request).value().outcome(), v1::OUTCOME_FRESH);
  };
  grant("a");
  grant("b");
  waiters_.push_back(Wait(api_, "a", crowded));
  waiters_.push_back(Wait(api_, "a", crowded));
  server_.AwaitWaiters(2);
  EXPECT_EQ(Wait(api_, "a", crowded)->Outcome(), v1::OUTCOME_CONFLICT) << "the key's cap";
  waiters_.push_back(Wait(api_, "b", crowded));
  server_.AwaitWaiters(3);
  EXPECT_EQ(Wait(api_, "b", crowded)->Outcome(), v1::OUTCOME_CONFLICT) << "the namespace's cap";
  waiters_[2]->Cancel();
  server_.AwaitWaiters(2);
  waiters_.push_back(Wait(api_, "b", crowded));
  server_.AwaitWaiters(3);
}

TEST_F(Waiting, NobodyWaitsWhereNobodyMay) {
  const auto none = [](v1::ReserveRequest& request) { request.set_namespace_("none"); };
  EXPECT_EQ(Wait(api_, "k", none)->Outcome(), v1::OUTCOME_FRESH);
  EXPECT_EQ(Wait(api_, "k", none)->Outcome(), v1::OUTCOME_CONFLICT);
}

TEST_F(Waiting, ANamespaceMayWaitByDefault) {
  v1::ReserveRequest request = ReserveOf("k");
  request.set_namespace_("patient");
  const v1::Reservation grant = api_.Reserve(request).value().reservation();
  AsyncReserve waiter(api_, request);
  server_.AwaitWaiters(1);
  WithWait(absl::ZeroDuration())(request);
  EXPECT_EQ(api_.Reserve(request).value().outcome(), v1::OUTCOME_CONFLICT) << "zero is zero";
  v1::ReleaseRequest release = ReleaseOf("k", grant.token());
  release.set_namespace_("patient");
  ASSERT_TRUE(api_.Release(release).ok());
  EXPECT_EQ(waiter.Outcome(), v1::OUTCOME_FRESH);
}

}  // namespace
}  // namespace onced::integration
