// The fake as its users have it: time, faults, ends and starts. That it answers as the real server
// does, tests/scenarios shows.
#include "client/fake/fake_server.h"

#include <dlfcn.h>

#include <future>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/error.h"
#include "client/cpp/raw_client.h"
#include "client/cpp/run_once.h"
#include "client/cpp/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onced::client {
namespace {

using testing::HasSubstr;

const Key kKey{"shop", "order-1"};
const Result kResult{.status_code = 201, .body = "done"};

class FakeServerTest : public testing::Test {
 protected:
  Fresh Grant(const ReserveOptions& options = {}) {
    auto outcome = client_.Reserve(kKey, options);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_TRUE(std::holds_alternative<Fresh>(*outcome));
    return std::get<Fresh>(*std::move(outcome));
  }
  // The verdict, or the error.
  static std::string NameOf(const absl::StatusOr<ReserveOutcome>& outcome) {
    constexpr const char* kNames[] = {"FRESH", "REPLAYED", "CONFLICT", "MISMATCH", "UNRESOLVED"};
    return outcome.ok() ? kNames[outcome->index()]
                        : absl::StatusCodeToString(outcome.status().code());
  }
  std::string Reserve(const ReserveOptions& options = {}) {
    return NameOf(client_.Reserve(kKey, options));
  }
  std::future<absl::StatusOr<ReserveOutcome>> ReserveBeside(const ReserveOptions& options) {
    return std::async(std::launch::async, [this, options] {
      return client_.Reserve(kKey, options, {.deadline = absl::Now() + absl::Hours(2)});
    });
  }
  State StateNow() {
    const auto record = client_.Inspect(kKey);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? record->state : State::kUnknown;
  }
  // How often the work ran, and the outcome's place in RunOutcome, or the error.
  std::pair<int, std::string> Run(const Client& client) {
    int runs = 0;
    const auto outcome = RunOnce(client, kKey, "fp", {.classifier = CommitResults},
                                 [&](WorkContext&) -> absl::StatusOr<Result> {
                                   ++runs;
                                   return kResult;
                                 });
    if (!outcome.ok()) return {runs, absl::StatusCodeToString(outcome.status().code())};
    constexpr const char* kNames[] = {"Done",      "Replayed",     "Conflict",
                                      "Mismatch",  "Unresolved",   "NothingDone",
                                      "Undecided", "NotCommitted", "Unprotected"};
    return {runs, kNames[outcome->index()]};
  }

  FakeServer server_{{.time_stands_still = true}};
  const Client client_ = server_.client();
};

using Came = std::pair<int, std::string>;

// ---- Time ----

TEST_F(FakeServerTest, ALeaseLapsesAndIsTakenOver) {
  Fresh first = Grant({.owner = "first", .lease_ttl = absl::Hours(1)});
  ASSERT_TRUE(first.reservation.Extend({.checkpoint = "half"}).ok());
  server_.Advance(absl::Minutes(59));
  EXPECT_EQ(StateNow(), State::kPending);
  server_.Advance(absl::Minutes(2));
  EXPECT_EQ(StateNow(), State::kLapsed);
  const Fresh second = Grant();
  EXPECT_EQ(second.reservation.attempt(), 2);
  EXPECT_GT(second.reservation.fence(), first.reservation.fence());
  ASSERT_TRUE(second.reservation.previous().has_value());
  EXPECT_EQ(second.reservation.previous()->checkpoint, "half");
  EXPECT_EQ(DetailsOf(first.reservation.Commit(kResult).status()).reason, "SUPERSEDED");
}

TEST_F(FakeServerTest, AResultExpires) {
  ASSERT_TRUE(Grant().reservation.Commit(kResult, {.retention_ttl = absl::Hours(24 * 30)}).ok());
  server_.Advance(absl::Hours(24 * 30) - absl::Minutes(1));
  EXPECT_EQ(Reserve(), "REPLAYED");
  server_.Advance(absl::Minutes(1));
  EXPECT_EQ(Reserve(), "FRESH");
}

TEST_F(FakeServerTest, TimeStandsStillOrGoesOn) {
  const absl::Time before = server_.Now();
  server_.Advance(absl::Hours(1));
  EXPECT_EQ(server_.Now(), before + absl::Hours(1));
  FakeServer other;
  other.Advance(absl::Hours(1));
  const absl::Time then = other.Now();
  while (other.Now() == then) continue;
  EXPECT_GT(other.Now(), before + absl::Hours(1));
}

// By itself: nobody moves time.
TEST(FakeServerTime, ALeaseLapsesByItself) {
  FakeServer server;
  const Client client = server.client();
  ASSERT_TRUE(client.Reserve(kKey, {.lease_ttl = absl::Milliseconds(100)}).ok());
  const auto outcome = client.Reserve(kKey, {.wait_timeout = absl::Seconds(60)});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(std::holds_alternative<Fresh>(*outcome));
}

// A start never goes back behind a time that was told before.
TEST_F(FakeServerTest, TimeGoesOnOverAStop) {
  server_.Advance(absl::Hours(1));
  Grant();
  const absl::Time granted = server_.Now();
  server_.Stop();
  EXPECT_GE(server_.Now(), granted);
  server_.Start();
  EXPECT_GE(server_.Now(), granted);
  EXPECT_LE(server_.Now(), granted + absl::Seconds(1));
  const absl::Time started = server_.Now();
  server_.Advance(absl::Seconds(10));
  EXPECT_EQ(server_.Now(), started + absl::Seconds(10));
}

TEST_F(FakeServerTest, AWaiterIsGrantedALapsedKey) {
  Grant({.lease_ttl = absl::Seconds(30)});
  auto waiter = ReserveBeside({.wait_timeout = absl::Seconds(60)});
  ASSERT_TRUE(server_.AwaitWaiters(1));
  server_.Advance(absl::Seconds(29));
  EXPECT_EQ(server_.waiters(), 1u);
  server_.Advance(absl::Seconds(1));
  EXPECT_EQ(server_.waiters(), 0u);
  EXPECT_EQ(NameOf(waiter.get()), "FRESH");
}

// Who gives up before the lease ends hears so, however far time is moved at once.
TEST_F(FakeServerTest, WaitsEndInTheirOrder) {
  Grant({.lease_ttl = absl::Seconds(30)});
  auto first = ReserveBeside({.wait_timeout = absl::Seconds(10)});
  ASSERT_TRUE(server_.AwaitWaiters(1));
  auto second = ReserveBeside({.lease_ttl = absl::Seconds(10), .wait_timeout = absl::Seconds(50)});
  ASSERT_TRUE(server_.AwaitWaiters(2));
  server_.Advance(absl::Hours(1));
  EXPECT_EQ(NameOf(first.get()), "CONFLICT");
  EXPECT_EQ(NameOf(second.get()), "FRESH");
  EXPECT_EQ(StateNow(), State::kLapsed);  // Its lease, too.
}

TEST_F(FakeServerTest, NobodyWaitsThatDoesNotCome) {
  EXPECT_TRUE(server_.AwaitWaiters(0));
  EXPECT_FALSE(server_.AwaitWaiters(1, absl::Milliseconds(1)));
  EXPECT_FALSE(server_.AwaitWaiters(1, -absl::InfiniteDuration()));
  EXPECT_TRUE(server_.AwaitWaiters(0, absl::InfiniteDuration()));
}

TEST_F(FakeServerTest, ACommitWakesWaiters) {
  Fresh holder = Grant();
  auto waiter = ReserveBeside({.wait_timeout = absl::Seconds(60)});
  ASSERT_TRUE(server_.AwaitWaiters(1));
  ASSERT_TRUE(holder.reservation.Commit(kResult).ok());
  EXPECT_EQ(NameOf(waiter.get()), "REPLAYED");
}

// ---- Faults ----

// One call of each, with what is there afterwards if it was executed.
struct Call {
  const char* name;
  Rpc rpc;
  State before;  // kAbsent: nothing, kPending: a grant.
  State after;
};
const Call kCalls[] = {
    {"Reserve", Rpc::kReserve, State::kAbsent, State::kPending},
    {"Commit", Rpc::kCommit, State::kPending, State::kCommitted},
    {"Release", Rpc::kRelease, State::kPending, State::kAbsent},
    {"Batch", Rpc::kBatch, State::kAbsent, State::kPending},
};

class FaultTest : public FakeServerTest, public testing::WithParamInterface<Call> {
 protected:
  FaultTest() {
    if (GetParam().before == State::kPending) reservation_ = Grant().reservation.token();
  }
  absl::Status Make() {
    switch (GetParam().rpc) {
      case Rpc::kReserve:
        return once_.Reserve(kKey).status();
      case Rpc::kCommit:
        return once_.Commit(kKey, reservation_, kResult).status();
      case Rpc::kRelease:
        return once_.Release(kKey, reservation_).status();
      default:
        return RawClient::Connect(server_.address()).Batch(OneReserve()).status();
    }
  }
  static v1::BatchRequest OneReserve() {
    v1::BatchRequest batch;
    v1::ReserveRequest& reserve = *batch.add_operations()->mutable_reserve();
    reserve.set_namespace_(kKey.name_space);
    reserve.set_key(kKey.name);
    return batch;
  }

  const Client once_ = server_.client({.retry = {.attempts_max = 1}});
  std::string reservation_;
};
INSTANTIATE_TEST_SUITE_P(, FaultTest, testing::ValuesIn(kCalls),
                         [](const auto& call) { return call.param.name; });

TEST_P(FaultTest, OfFailNextIsNotExecuted) {
  const ErrorDetails busy{.code = absl::StatusCode::kResourceExhausted,
                          .message = "the disk is nearly full",
                          .reason = "DISK_FULL",
                          .domain = kDomain,
                          .retry_delay = absl::Seconds(7)};
  server_.FailNext(1, ToAbslStatus(busy), GetParam().rpc);
  const absl::Status failed = Make();
  EXPECT_EQ(failed.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(failed.message(), busy.message);
  EXPECT_EQ(DetailsOf(failed).reason, "DISK_FULL");
  EXPECT_EQ(DetailsOf(failed).retry_delay, absl::Seconds(7));
  EXPECT_EQ(StateNow(), GetParam().before);
  EXPECT_EQ(server_.calls(GetParam().rpc), 1);
  EXPECT_TRUE(Make().ok());
  EXPECT_EQ(StateNow(), GetParam().after);
  EXPECT_EQ(server_.calls(GetParam().rpc), 2);
}

TEST_P(FaultTest, OfLoseAnswersIsExecuted) {
  server_.LoseAnswers(1, GetParam().rpc);
  EXPECT_EQ(Make().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(StateNow(), GetParam().after);
}

TEST_F(FakeServerTest, TheKeyOfACallThatFailsIsNotTouched) {
  server_.FailNext(1, absl::UnavailableError("down"), Rpc::kExtend);
  server_.FailNext(1, absl::InternalError("odd"), Rpc::kInspect);
  Fresh holder = Grant({.lease_ttl = absl::Seconds(10)});
  const Client once = server_.client({.retry = {.attempts_max = 1}});
  EXPECT_EQ(
      once.Extend(kKey, holder.reservation.token(), {.lease_ttl = absl::Hours(1)}).status().code(),
      absl::StatusCode::kUnavailable);
  EXPECT_EQ(client_.Inspect(kKey).status().code(), absl::StatusCode::kInternal);
  server_.Advance(absl::Seconds(10));
  EXPECT_EQ(StateNow(), State::kLapsed);
}

TEST_F(FakeServerTest, FaultsComeInTheirOrderAndToTheirCalls) {
  server_.FailNext(2, absl::InternalError("of any"), Rpc::kReserve);
  server_.FailNext(1, absl::PermissionDeniedError("the third"));
  server_.FailNext(100, absl::InternalError("taken back"));
  EXPECT_EQ(Reserve(), "INTERNAL");
  EXPECT_EQ(client_.Inspect(kKey).status().message(), "the third");
  server_.ClearFaults();
  EXPECT_EQ(Reserve(), "FRESH");
}

TEST_F(FakeServerTest, ASessionHasNoFaults) {
  server_.FailNext(100, absl::InternalError("not this"));
  RawClient raw = RawClient::Connect(server_.address());
  Session session = Session::Open(raw.stub());
  std::vector<v1::Operation> operations(1);
  operations[0].mutable_inspect()->set_namespace_(kKey.name_space);
  operations[0].mutable_inspect()->set_key(kKey.name);
  ASSERT_TRUE(session.Send(1, std::move(operations)));
  const auto answer = session.Read();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->items(0).inspect().record().state(), v1::STATE_ABSENT);
  session.WritesDone();
  EXPECT_TRUE(session.Finish().ok());
  EXPECT_EQ(server_.calls(Rpc::kSession), 1);
}

TEST_F(FakeServerTest, RunOnceLivesThroughFaults) {
  struct Row {
    const char* name;
    std::function<void(FakeServer&)> ask;
    Came came;
  };
  const absl::Status down = absl::UnavailableError("down");
  const Row rows[] = {
      {"nothing", [](FakeServer&) {}, {1, "Done"}},
      {"no_reserve", [&](FakeServer& fake) { fake.FailNext(1, down, Rpc::kReserve); }, {1, "Done"}},
      {"no_commit", [&](FakeServer& fake) { fake.FailNext(1, down, Rpc::kCommit); }, {1, "Done"}},
      {"reserve_lost", [](FakeServer& fake) { fake.LoseAnswers(1, Rpc::kReserve); }, {1, "Done"}},
      {"commit_lost", [](FakeServer& fake) { fake.LoseAnswers(1, Rpc::kCommit); }, {1, "Done"}},
      {"every_answer_lost", [](FakeServer& fake) { fake.LoseAnswers(3); }, {1, "Done"}},
      {"out_of_reach",
       [&](FakeServer& fake) { fake.FailNext(1'000, down, Rpc::kReserve); },
       {0, "UNAVAILABLE"}},
      {"refused",
       [](FakeServer& fake) { fake.FailNext(1, absl::PermissionDeniedError("no"), Rpc::kReserve); },
       {0, "PERMISSION_DENIED"}},
      {"commit_refused",
       [](FakeServer& fake) {
         fake.FailNext(
             1,
             ToAbslStatus(ErrorDetails{
                 .code = absl::StatusCode::kAborted, .reason = "SUPERSEDED", .domain = kDomain}),
             Rpc::kCommit);
       },
       {1, "NotCommitted"}},
  };
  for (const Row& row : rows) {
    FakeServer fake;
    const Client client =
        fake.client({.retry = {.attempts_max = 4, .backoff_first = absl::Milliseconds(1)}});
    row.ask(fake);
    EXPECT_EQ(Run(client), row.came) << row.name;
    fake.ClearFaults();
    // Whatever went wrong, nobody has the effect a second time.
    const Came again = row.came.first == 0         ? Came{1, "Done"}
                       : row.came.second == "Done" ? Came{0, "Replayed"}
                                                   : Came{0, "Conflict"};
    EXPECT_EQ(Run(client), again) << row.name;
  }
}

// ---- An end and a start ----

TEST_F(FakeServerTest, KeepsItsRecordsOverAStop) {
  ASSERT_TRUE(Grant().reservation.Commit(kResult).ok());
  const std::string address = server_.address();
  server_.Stop();
  EXPECT_EQ(Run(client_), Came(0, "UNAVAILABLE"));
  server_.Stop();  // Has no effect.
  server_.Start();
  server_.Start();
  EXPECT_EQ(server_.address(), address);
  EXPECT_EQ(Run(server_.client({.retry = {.attempts_max = 1}})), Came(0, "Mismatch"));
  EXPECT_EQ(Reserve(), "REPLAYED");
}

// The first call after it gets through, without a retry.
TEST_F(FakeServerTest, IsReachedAsSoonAsItHasStarted) {
  const Client once = server_.client({.retry = {.attempts_max = 1}});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(NameOf(once.Reserve({"shop", absl::StrCat(i)})), "FRESH");
    server_.Stop();
    EXPECT_EQ(NameOf(once.Reserve(kKey)), "UNAVAILABLE");
    server_.Start();
  }
}

TEST_F(FakeServerTest, AStopEndsWaits) {
  Grant();
  const Client once = server_.client({.retry = {.attempts_max = 1}});
  auto waiter = std::async(std::launch::async,
                           [&] { return once.Reserve(kKey, {.wait_timeout = absl::Seconds(60)}); });
  ASSERT_TRUE(server_.AwaitWaiters(1));
  server_.Stop();
  const auto outcome = waiter.get();
  EXPECT_EQ(DetailsOf(outcome.status()).reason, "DRAINING");
}

// As the real one: an outage is no reason for everybody to take over.
TEST_F(FakeServerTest, LeasesHaveAGraceAfterAStop) {
  Grant({.lease_ttl = absl::Seconds(10)});
  server_.Stop();
  server_.Advance(absl::Hours(24 * 30));
  server_.Start();
  EXPECT_EQ(StateNow(), State::kPending);
  server_.Advance(absl::Seconds(15));
  EXPECT_EQ(StateNow(), State::kLapsed);
}

TEST_F(FakeServerTest, ClientsMayOutliveIt) {
  auto fake = std::make_unique<FakeServer>();
  const Client client = fake->client({.retry = {.attempts_max = 1}});
  EXPECT_EQ(Run(client), Came(1, "Done"));
  fake = nullptr;
  EXPECT_EQ(Run(client), Came(0, "UNAVAILABLE"));
}

TEST_F(FakeServerTest, IsAloneWithItsRecords) {
  FakeServer other;
  EXPECT_NE(other.address(), server_.address());
  EXPECT_EQ(Run(client_), Came(1, "Done"));
  EXPECT_EQ(Run(other.client()), Came(1, "Done"));
}

// ---- Policies, and an operator ----

TEST(FakeServerPolicies, AreKept) {
  FakeServer fake({.namespaces = {{"charges",
                                   {.hold_on_lapse = true,
                                    .lease_max = absl::Minutes(5),
                                    .max_body_bytes = 3}}},
                   .others = std::nullopt});
  const Client client = fake.client();
  const Key key{"charges", "c"};
  EXPECT_EQ(client.Reserve({"shop", "c"}).status().code(), absl::StatusCode::kPermissionDenied);
  const absl::Status out_of_bounds = client.Reserve(key, {.lease_ttl = absl::Minutes(6)}).status();
  EXPECT_EQ(out_of_bounds.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(out_of_bounds.message()), HasSubstr("lease_ttl"));
  ASSERT_TRUE(client.Reserve(key).ok());
  fake.Advance(absl::Minutes(5));
  auto outcome = client.Reserve(key);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(std::holds_alternative<Unresolved>(*outcome));

  ASSERT_TRUE(fake.Resolve(key, Result{.status_code = 201, .body = "1234"}).ok());
  outcome = client.Reserve(key);
  ASSERT_TRUE(outcome.ok());
  const auto* replayed = std::get_if<Replayed>(&*outcome);
  ASSERT_NE(replayed, nullptr);
  EXPECT_EQ(replayed->result.status_code, 201);
  EXPECT_TRUE(replayed->result.body_omitted);
}

TEST(FakeServerPolicies, ThatAreImpossibleEndTheProcess) {
  EXPECT_DEATH(FakeServer({.others = FakePolicy{.lease_max = absl::Seconds(1)}}), "lease|min|most");
  EXPECT_DEATH(FakeServer({.namespaces = {{"no name", {}}}}), "IsName");
}

TEST_F(FakeServerTest, AnOperatorSettles) {
  EXPECT_EQ(server_.Resolve(kKey, std::nullopt).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(server_.Evict(kKey).ok());
  Fresh holder = Grant();
  ASSERT_TRUE(server_.Resolve(kKey, std::nullopt).ok());
  EXPECT_EQ(DetailsOf(holder.reservation.Commit(kResult).status()).reason, "NOT_RESERVED");
  EXPECT_EQ(Run(client_), Came(1, "Done"));
  ASSERT_TRUE(server_.Evict(kKey).ok());
  EXPECT_EQ(Run(client_), Came(1, "Done"));
  const std::int64_t inspects = server_.calls(Rpc::kInspect);
  EXPECT_EQ(inspects, 0);  // What it does itself it doesn't count.
}

// ---- What it leaves alone ----

// The real server takes functions of gRPC's library in its whole program: see
// docs/decisions/0027-frames-are-watched.md. A user's test shall have gRPC's own.
TEST_F(FakeServerTest, TakesNothingOfGrpcs) {
  Dl_info program{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&kCalls), &program), 0);
  for (const char* symbol :
       {"_Z28grpc_create_chttp2_transportRKN9grpc_core11ChannelArgsEP13grpc_endpointb",
        "_Z24grpc_chttp2_perform_readP21grpc_chttp2_transportRK10grpc_slice",
        "_ZN21grpc_chttp2_transportD1Ev", "grpc_chttp2_settings_parameters"}) {
    void* const at = dlsym(RTLD_DEFAULT, symbol);
    ASSERT_NE(at, nullptr) << symbol;
    Dl_info found{};
    ASSERT_NE(dladdr(at, &found), 0);
    EXPECT_STRNE(found.dli_fname, program.dli_fname) << symbol;
  }
}

}  // namespace
}  // namespace onced::client
