// Session, as a client sees it.
#include "tests/integration/session.h"

#include <signal.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr int kOperationsMax = 1'024;
// Half of the streams of a connection.
constexpr int kParkedPerConnection = 128;
// Half of the messages of a session that may be unanswered.
constexpr int kParkedMessages = 32;

v1::ReserveRequest Waits(const std::string& key) {
  v1::ReserveRequest request = ReserveOf(key);
  WithWait(absl::Seconds(60))(request);
  return request;
}

v1::Outcome OutcomeOf(const v1::SessionResponse& response, int index = 0) {
  return response.items(index).reserve().outcome();
}

class Sessions : public testing::Test {
 protected:
  double Metric(const std::string& name) { return server_.GetMetrics().at(name); }
  void AwaitMetric(const std::string& name, double value) {
    Await(absl::StrCat(name, " ", value), [&] { return Metric(name) == value; });
  }

  ServerProcess server_{{.config = "namespaces:\n"
                                   "  tests: {}\n"
                                   "  patient: {wait: {default: 60s}}\n"}};
  Api api_{server_.Connect()};
};

// ---- Answers ----

TEST_F(Sessions, AnswerEachKindOfOperationInItsPlace) {
  const v1::Reservation commit = api_.Grant("commit");
  const v1::Reservation release = api_.Grant("release");
  const v1::Reservation extend = api_.Grant("extend");
  SessionStream session(api_);
  session.Send(UINT64_MAX, {OperationOf(ReserveOf("reserve")),
                            OperationOf(CommitOf("commit", commit.token(), AwkwardResult())),
                            OperationOf(ReleaseOf("release", release.token())),
                            OperationOf(ExtendOf("extend", extend.token())),
                            OperationOf(InspectOf("absent")), OperationOf(ReserveOf("")),
                            OperationOf(ReleaseOf("extend", release.token())), v1::Operation()});
  const v1::SessionResponse response = session.Read();
  EXPECT_EQ(response.id(), UINT64_MAX);
  EXPECT_FALSE(response.has_error());
  ASSERT_EQ(response.items_size(), 8);
  EXPECT_EQ(OutcomeOf(response), v1::OUTCOME_FRESH);
  EXPECT_TRUE(response.items(1).commit().has_commit_time());
  EXPECT_TRUE(response.items(2).release().released());
  EXPECT_TRUE(response.items(3).extend().has_lease_expire_time());
  EXPECT_EQ(response.items(4).inspect().record().state(), v1::STATE_ABSENT);
  EXPECT_THAT(ErrorOf(response.items(5).error()).violations,
              ElementsAre(Pair("operations[5].reserve.key", _)));
  EXPECT_EQ(ErrorOf(response.items(6).error()).reason, "SUPERSEDED");
  EXPECT_THAT(ErrorOf(response.items(7).error()).violations, ElementsAre(Pair("operations[7]", _)));
  EXPECT_EQ(api_.Reserve("commit").replay().result().body(), AwkwardResult().body());
}

TEST_F(Sessions, AMessageWithoutOperationsOrWithTooManyIsRefusedByItself) {
  SessionStream session(api_);
  const std::vector<v1::Operation> most(kOperationsMax, OperationOf(InspectOf("k")));
  std::vector<v1::Operation> too_many = most;
  too_many.push_back(OperationOf(ReserveOf("k")));
  session.Send(1, std::vector<v1::Operation>{});
  session.Send(2, too_many);
  session.Send(3, most);
  auto answers = session.Read(3);
  for (const std::uint64_t id : {1, 2}) {
    EXPECT_EQ(answers[id].items_size(), 0);
    const Error error = ErrorOf(answers[id].error());
    EXPECT_EQ(error.code, grpc::INVALID_ARGUMENT);
    EXPECT_EQ(error.reason, "INVALID_FIELD");
    EXPECT_THAT(error.violations, ElementsAre(Pair("operations", _)));
  }
  ASSERT_EQ(answers[3].items_size(), kOperationsMax);
  EXPECT_EQ(answers[3].items(kOperationsMax - 1).inspect().record().state(), v1::STATE_ABSENT);
  session.HalfClose();
  EXPECT_TRUE(session.Finish().ok());
}

TEST_F(Sessions, MessagesOfOneIdAreAnsweredEach) {
  SessionStream session(api_);
  session.Send(7, InspectOf("a"));
  session.Send(7, InspectOf("b"));
  EXPECT_EQ(session.Read().id(), 7);
  EXPECT_EQ(session.Read().id(), 7);
  session.HalfClose();
  EXPECT_TRUE(session.Finish().ok());
}

// ---- Order ----

TEST_F(Sessions, OperationsOnOneKeyRunInTheOrderSent) {
  constexpr int kMessages = 1'000;
  const v1::Reservation grant = api_.Grant("k");
  SessionStream session(api_);
  std::thread sender([&] {
    for (int i = 0; i < kMessages; ++i) {
      v1::ExtendRequest extend = ExtendOf("k", grant.token());
      extend.set_checkpoint(absl::StrCat(i));
      session.Send(2 * i, extend);
      session.Send(2 * i + 1, InspectOf("k"));
    }
    session.HalfClose();
  });
  const auto answers = session.Read(2 * kMessages);
  sender.join();
  for (int i = 0; i < kMessages; ++i) {
    const v1::SessionResponse& seen = answers.at(2 * i + 1);
    ASSERT_EQ(seen.items(0).inspect().record().checkpoint(), absl::StrCat(i));
  }
  EXPECT_TRUE(session.Finish().ok());
}

TEST_F(Sessions, AnAnswerDoesNotWaitForOneThatWaits) {
  const v1::Reservation grant = api_.Grant("k");
  SessionStream session(api_);
  session.Send(1, Waits("k"));
  server_.AwaitWaiters(1);
  session.Send(2, InspectOf("other"));
  EXPECT_EQ(session.Read().id(), 2);
  session.Send(3, CommitOf("k", grant.token(), ResultOf(200, "done")));
  auto answers = session.Read(2);
  EXPECT_TRUE(answers[3].items(0).commit().has_commit_time());
  EXPECT_EQ(OutcomeOf(answers[1]), v1::OUTCOME_REPLAYED);
  EXPECT_EQ(answers[1].items(0).reserve().replay().result().body(), "done");
}

TEST_F(Sessions, AMessageWaitsForAllOfItsOperations) {
  const v1::Reservation grant = api_.Grant("k");
  SessionStream session(api_);
  session.Send(1, {OperationOf(ReserveOf("fresh")), OperationOf(Waits("k"))});
  server_.AwaitWaiters(1);
  EXPECT_EQ(api_.Inspect("fresh").state(), v1::STATE_PENDING) << "it is done, but not answered";
  ASSERT_TRUE(api_.Release("k", grant.token()));
  const v1::SessionResponse response = session.Read();
  EXPECT_EQ(OutcomeOf(response, 0), v1::OUTCOME_FRESH);
  EXPECT_EQ(OutcomeOf(response, 1), v1::OUTCOME_FRESH);
}

// ---- Waiting ----

TEST_F(Sessions, ANamespacesDefaultWaitHolds) {
  v1::ReserveRequest patient = ReserveOf("k");
  patient.set_namespace_("patient");
  const v1::Reservation grant = api_.Reserve(patient).value().reservation();
  SessionStream session(api_);
  session.Send(1, patient);
  server_.AwaitWaiters(1);
  v1::ReleaseRequest release = ReleaseOf("k", grant.token());
  release.set_namespace_("patient");
  ASSERT_TRUE(api_.Release(release).value().released());
  EXPECT_EQ(OutcomeOf(session.Read()), v1::OUTCOME_FRESH);
}

TEST_F(Sessions, AWaitThatIsOutOfBoundsIsNamed) {
  v1::ReserveRequest request = ReserveOf("k");
  WithWait(absl::Seconds(61))(request);
  SessionStream session(api_);
  session.Send(1, {OperationOf(InspectOf("k")), OperationOf(request)});
  EXPECT_THAT(ErrorOf(session.Read().items(1).error()).violations,
              ElementsAre(Pair("operations[1].reserve.wait_timeout", _)));
}

TEST_F(Sessions, AWaitEndsBeforeTheStreamsDeadline) {
  api_.Grant("k");
  // The margin may be missed on a machine that stands still: then once more.
  Await("an answer before the deadline", [&] {
    SessionStream session(api_, std::chrono::system_clock::now() + std::chrono::seconds(1));
    session.Send(1, Waits("k"));
    const auto response = session.TryRead();
    if (!response.has_value()) {
      EXPECT_EQ(session.Finish().error_code(), grpc::DEADLINE_EXCEEDED);
      return false;
    }
    EXPECT_EQ(OutcomeOf(*response), v1::OUTCOME_CONFLICT);
    return true;
  });
  server_.AwaitWaiters(0);
}

// A session in which as many wait as may still takes what they wait for.
TEST_F(Sessions, WaitingMessagesAreAtMostHalf) {
  const v1::Reservation grant = api_.Grant("k");
  SessionStream session(api_);
  for (int i = 0; i < kParkedMessages + 8; ++i) session.Send(i, Waits("k"));
  for (const auto& [id, response] : session.Read(8)) {
    EXPECT_GE(id, kParkedMessages);
    EXPECT_EQ(OutcomeOf(response), v1::OUTCOME_CONFLICT);
  }
  server_.AwaitWaiters(kParkedMessages);
  session.Send(1'000, CommitOf("k", grant.token(), {}));
  auto answers = session.Read(kParkedMessages + 1);
  answers.erase(1'000);
  for (const auto& [id, response] : answers) {
    EXPECT_EQ(OutcomeOf(response), v1::OUTCOME_REPLAYED);
  }
  session.Send(1, Waits("k"));  // There is room again.
  EXPECT_EQ(OutcomeOf(session.Read()), v1::OUTCOME_REPLAYED);
}

TEST_F(Sessions, OperationsOfWaitingMessagesAreAtMostHalf) {
  const v1::Reservation grant = api_.Grant("k");
  std::vector<v1::Operation> operations(kOperationsMax, OperationOf(InspectOf("k")));
  operations.back() = OperationOf(Waits("k"));
  SessionStream session(api_);
  for (int i = 0; i < 3; ++i) session.Send(i, operations);
  const v1::SessionResponse third = session.Read();
  EXPECT_EQ(third.id(), 2);
  EXPECT_EQ(OutcomeOf(third, kOperationsMax - 1), v1::OUTCOME_CONFLICT);
  server_.AwaitWaiters(2);
  session.Send(3, CommitOf("k", grant.token(), {}));
  EXPECT_EQ(session.Read(3).size(), 3);
}

TEST_F(Sessions, BytesOfWaitingMessagesAreAtMostHalf) {
  const v1::Reservation grant = api_.Grant("k");
  const v1::Operation large =
      OperationOf(CommitOf("absent", "token", ResultOf(200, std::string(3 << 20, 'b'))));
  SessionStream session(api_);
  for (int i = 0; i < 2; ++i) session.Send(i, {large, OperationOf(Waits("k"))});
  const v1::SessionResponse second = session.Read();
  EXPECT_EQ(second.id(), 1);
  EXPECT_EQ(OutcomeOf(second, 1), v1::OUTCOME_CONFLICT);
  session.Send(3, CommitOf("k", grant.token(), {}));
  EXPECT_EQ(session.Read(2).size(), 2);
}

TEST_F(Sessions, ParkedOperationsShareTheConnectionsHalf) {
  const v1::Reservation grant = api_.Grant("k");
  SessionStream first(api_);
  SessionStream second(api_);
  first.Send(1, std::vector<v1::Operation>(100, OperationOf(Waits("k"))));
  server_.AwaitWaiters(100);
  second.Send(2, std::vector<v1::Operation>(100, OperationOf(Waits("k"))));
  server_.AwaitWaiters(kParkedPerConnection);
  EXPECT_EQ(api_.Reserve("k", WithWait(absl::Seconds(60))).outcome(), v1::OUTCOME_CONFLICT)
      << "calls share it too";
  api_.Commit("k", grant.token(), {});
  const v1::SessionResponse all = first.Read();
  const v1::SessionResponse some = second.Read();
  int replayed = 0;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(OutcomeOf(all, i), v1::OUTCOME_REPLAYED);
    replayed += OutcomeOf(some, i) == v1::OUTCOME_REPLAYED;
  }
  EXPECT_EQ(replayed, kParkedPerConnection - 100);
  // The share is given back.
  const v1::Reservation again = api_.Grant("again");
  first.Send(3, std::vector<v1::Operation>(kParkedPerConnection, OperationOf(Waits("again"))));
  server_.AwaitWaiters(kParkedPerConnection);
}

// ---- Ends ----

TEST_F(Sessions, AfterTheHalfCloseAllIsAnswered) {
  const v1::Reservation grant = api_.Grant("k");
  SessionStream session(api_);
  session.Send(1, Waits("k"));
  for (int i = 2; i < 12; ++i) session.Send(i, ReserveOf(absl::StrCat("k", i)));
  session.HalfClose();
  EXPECT_EQ(session.Read(10).size(), 10);
  ASSERT_TRUE(api_.Release("k", grant.token()));
  EXPECT_EQ(OutcomeOf(session.Read()), v1::OUTCOME_FRESH);
  EXPECT_TRUE(session.Finish().ok());
}

TEST_F(Sessions, OneOfNothingEndsAtOnce) {
  SessionStream session(api_);
  session.HalfClose();
  EXPECT_TRUE(session.Finish().ok());
  AwaitMetric("idempotency_sessions", 0);
}

TEST_F(Sessions, ACancelledOnesWaitersAreGivenNothing) {
  const v1::Reservation grant = api_.Grant("k");
  SessionStream session(api_);
  session.Send(1, Waits("k"));
  session.Send(2, {OperationOf(Waits("k")), OperationOf(ReserveOf("other"))});
  server_.AwaitWaiters(2);
  session.Cancel();
  server_.AwaitWaiters(0);
  AwaitMetric("idempotency_sessions", 0);
  ASSERT_TRUE(api_.Release("k", grant.token()));
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_ABSENT);
  EXPECT_EQ(api_.Inspect("other").state(), v1::STATE_PENDING) << "what was submitted is executed";
  EXPECT_EQ(session.Finish().error_code(), grpc::CANCELLED);
}

TEST_F(Sessions, AConnectionThatIsCutLeavesNothing) {
  const v1::Reservation grant = api_.Grant("k");
  {
    Api gone(server_.Connect());
    SessionStream session(gone);
    for (int i = 0; i < 20; ++i) session.Send(i, Waits("k"));
    server_.AwaitWaiters(20);
  }
  server_.AwaitWaiters(0);
  AwaitMetric("idempotency_sessions", 0);
  ASSERT_TRUE(api_.Release("k", grant.token()));
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_ABSENT);
}

TEST_F(Sessions, AMessageThatCannotBeParsedEndsItAfterWhatCameBefore) {
  SessionStream session(api_);
  session.Send(1, ReserveOf("before"));
  session.Send(2, {OperationOf(InspectOf("k")), OperationOf(ReserveOf("\xff"))});
  session.Send(3, ReserveOf("after"));
  EXPECT_EQ(session.Read().id(), 1);
  const Error error = ErrorOf(session.Finish());
  EXPECT_EQ(error.code, grpc::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "INVALID_FIELD");
  EXPECT_THAT(error.violations, ElementsAre(Pair("operations[1].reserve.key", HasSubstr("UTF-8"))));
  EXPECT_EQ(api_.Inspect("after").state(), v1::STATE_ABSENT);
}

TEST_F(Sessions, BytesThatAreNoMessageEndIt) {
  const RawReply reply =
      RawCall(api_.channel(), MethodOfApi("Session"), std::string("\x12\x05garbage"));
  const Error error = ErrorOf(reply.status);
  EXPECT_EQ(error.code, grpc::INVALID_ARGUMENT);
  EXPECT_THAT(error.violations, ElementsAre(Pair("request", HasSubstr("SessionRequest"))));
}

TEST_F(Sessions, AMessageOver4MiBEndsIt) {
  SessionStream session(api_);
  session.Send(1, CommitOf("k", "token", ResultOf(200, std::string(4 << 20, 'b'))));
  EXPECT_EQ(session.Finish().error_code(), grpc::RESOURCE_EXHAUSTED);
  AwaitMetric("idempotency_sessions", 0);
}

// ---- Slow clients ----

TEST_F(Sessions, AClientThatReadsLateGetsEveryAnswer) {
  constexpr int kMessages = 5'000;
  const std::string done = "idempotency_requests_total{method=\"session\",status=\"ok\"}";
  const v1::Reservation grant = api_.Grant("k");
  api_.Commit("k", grant.token(), ResultOf(200, std::string(1'000, 'b')));
  SessionStream session(api_);
  std::thread sender([&] {
    for (int i = 0; i < kMessages; ++i) {
      EXPECT_TRUE(session.Send(i, std::vector<v1::Operation>(10, OperationOf(ReserveOf("k")))));
    }
    session.HalfClose();
  });
  Await("some answers", [&] { return Metric(done) >= 100; });
  const auto answers = session.Read(kMessages);
  sender.join();
  for (const auto& [id, response] : answers) {
    ASSERT_EQ(response.items_size(), 10);
    for (const v1::BatchItem& item : response.items()) {
      ASSERT_EQ(item.reserve().replay().result().body().size(), 1'000);
    }
  }
  EXPECT_TRUE(session.Finish().ok());
}

// 1,000 answers of 1 MiB are wanted. What the server takes to send is bounded.
TEST_F(Sessions, AClientThatDoesNotReadIsNotReadFrom) {
  constexpr int kMessages = 1'000;
  const std::string replays = "idempotency_requests_total{method=\"reserve\",status=\"replayed\"}";
  const v1::Reservation grant = api_.Grant("k");
  api_.Commit("k", grant.token(), ResultOf(200, std::string(1 << 20, 'b')));
  SessionStream session(api_);
  std::thread sender([&] {
    for (int i = 0; i < kMessages && session.Send(i, ReserveOf("k")); ++i) continue;
  });
  Await("some answers", [&] { return Metric(replays) >= 4; });
  for (int i = 0; i < 100; ++i) api_.Inspect("other");  // Time to read more, if it did.
  EXPECT_LE(Metric(replays), 100);
  session.Cancel();
  sender.join();
  AwaitMetric("idempotency_sessions", 0);
}

// ---- Metrics ----

TEST_F(Sessions, AreCountedWithTheirMessagesAndOperations) {
  const auto requests = [](const std::string& method, const std::string& status) {
    return "idempotency_requests_total{method=\"" + method + "\",status=\"" + status + "\"}";
  };
  SessionStream session(api_);
  session.Send(1, {OperationOf(ReserveOf("k")), OperationOf(ReserveOf("k")),
                   OperationOf(InspectOf("k")), OperationOf(InspectOf(""))});
  session.Read();
  session.Send(2, std::vector<v1::Operation>{});
  session.Read();
  session.Send(3, Waits("k"));
  server_.AwaitWaiters(1);
  Metrics metrics = server_.GetMetrics();
  EXPECT_EQ(metrics["idempotency_sessions"], 1);
  EXPECT_EQ(metrics[requests("reserve", "fresh")], 1);
  EXPECT_EQ(metrics[requests("reserve", "conflict")], 1);
  EXPECT_EQ(metrics[requests("inspect", "ok")], 1);
  EXPECT_EQ(metrics[requests("inspect", "error")], 1);
  EXPECT_EQ(metrics[requests("session", "ok")], 1);
  EXPECT_EQ(metrics[requests("session", "error")], 1);
  EXPECT_EQ(metrics["idempotency_wait_duration_seconds_count"], 0);
  session.Cancel();
  AwaitMetric("idempotency_sessions", 0);
  EXPECT_EQ(Metric("idempotency_wait_duration_seconds_count"), 1) << "the wait, once";
}

// ---- The server's end ----

TEST(SessionsOfAServerThatEnds, ReservesAreRefusedAndCommitsStillWork) {
  ServerProcess server({.flags = {"--drain-window", "1h"}});
  Api api(server.Connect());
  const v1::Reservation grant = api.Grant("k");
  SessionStream session(api);
  session.Send(1, Waits("k"));
  server.AwaitWaiters(1);
  server.process().Signal(SIGTERM);
  EXPECT_EQ(ErrorOf(session.Read().items(0).error()).reason, "DRAINING");
  session.Send(2,
               {OperationOf(ReserveOf("another")), OperationOf(CommitOf("k", grant.token(), {}))});
  const v1::SessionResponse response = session.Read();
  EXPECT_EQ(ErrorOf(response.items(0).error()).reason, "DRAINING");
  EXPECT_TRUE(response.items(1).commit().has_commit_time());
  server.process().Signal(SIGTERM);  // The end of the window.
  const Error error = ErrorOf(session.Finish());
  EXPECT_EQ(error.code, grpc::UNAVAILABLE);
  EXPECT_EQ(error.reason, "DRAINING");
  EXPECT_NE(error.retry_delay, std::nullopt);
  EXPECT_EQ(server.process().Wait(), 0);
}

TEST(SessionsOfAServerThatEnds, IdleOnesDoNotDelayIt) {
  ServerProcess server({.flags = {"--shutdown-grace", "1h"}});
  std::vector<std::unique_ptr<Api>> apis;
  std::vector<std::unique_ptr<SessionStream>> sessions;
  for (int i = 0; i < 20; ++i) {
    if (i % 10 == 0) apis.push_back(std::make_unique<Api>(server.Connect()));
    sessions.push_back(std::make_unique<SessionStream>(*apis.back()));
    sessions.back()->Send(1, InspectOf("k"));
    sessions.back()->Read();
  }
  server.process().Signal(SIGTERM);
  for (const auto& session : sessions) {
    EXPECT_EQ(ErrorOf(session->Finish()).reason, "DRAINING");
  }
  EXPECT_EQ(server.process().Wait(std::chrono::seconds(20)), 0);
}

// Whatever is sent until the end is answered, or was not executed.
TEST(SessionsOfAServerThatEnds, WhatIsNotAnsweredWasNotDone) {
  ServerProcess server;
  Api api(server.Connect());
  SessionStream session(api);
  int sent = 0;
  std::thread sender([&] {
    while (session.Send(sent, ReserveOf(absl::StrCat("k", sent)))) ++sent;
  });
  std::set<std::uint64_t> granted;
  while (const auto response = session.TryRead()) {
    if (granted.size() == 100) server.process().Signal(SIGTERM);
    if (OutcomeOf(*response) == v1::OUTCOME_FRESH) granted.insert(response->id());
  }
  sender.join();
  EXPECT_EQ(ErrorOf(session.Finish()).reason, "DRAINING");
  EXPECT_EQ(server.process().Wait(), 0);
  server.Start();
  Api later(server.Connect());
  for (int i = 0; i <= sent; ++i) {
    const bool pending = later.Inspect(absl::StrCat("k", i)).state() == v1::STATE_PENDING;
    ASSERT_EQ(pending, granted.contains(i)) << i;
  }
}

TEST(SessionsOfAServerThatEnds, AClientThatDoesNotReadIsWaitedForNoLongerThanTheGrace) {
  ServerProcess server({.flags = {"--shutdown-grace", "200ms"}});
  Api api(server.Connect());
  const v1::Reservation grant = api.Grant("k");
  api.Commit("k", grant.token(), ResultOf(200, std::string(1 << 20, 'b')));
  SessionStream session(api);
  for (int i = 0; i < 4; ++i) session.Send(i, ReserveOf("k"));
  Await("the answers", [&] {
    return server.GetMetrics()["idempotency_requests_total{method=\"session\",status=\"ok\"}"] == 4;
  });
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(std::chrono::seconds(20)), 0);
}

TEST(SessionsOfAServerThatIsKilled, WhatIsSentAgainIsTheSameGrant) {
  constexpr int kMessages = 200;
  ServerProcess server;
  std::map<std::uint64_t, v1::Reservation> granted;
  const auto request = [](int i) {
    v1::ReserveRequest reserve = ReserveOf(absl::StrCat("k", i));
    reserve.set_request_id(absl::StrCat("run-", i));
    return reserve;
  };
  {
    Api api(server.Connect());
    SessionStream session(api);
    std::thread sender([&] {
      for (int i = 0; i < kMessages; ++i) session.Send(i, request(i));
    });
    while (const auto response = session.TryRead()) {
      granted[response->id()] = response->items(0).reserve().reservation();
      if (granted.size() == kMessages / 2) server.process().Signal(SIGKILL);
    }
    sender.join();
    EXPECT_EQ(session.Finish().error_code(), grpc::UNAVAILABLE);
  }
  server.Kill9();
  server.Start();
  Api api(server.Connect());
  SessionStream session(api);
  for (int i = 0; i < kMessages; ++i) {
    session.Send(i, request(i));
    const v1::SessionResponse response = session.Read();
    ASSERT_EQ(OutcomeOf(response), v1::OUTCOME_FRESH) << i;
    if (!granted.contains(i)) continue;
    EXPECT_TRUE(Same(response.items(0).reserve().reservation(), granted[i])) << i;
  }
}

}  // namespace
}  // namespace onced::integration
