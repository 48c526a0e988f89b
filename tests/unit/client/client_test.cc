#include "client/cpp/client.h"

#include "client/cpp/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/scripted_stub.h"

namespace onced::client {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Lt;
using testing::SizeIs;

const Key kKey{"shop", "order-1"};

// ---- Retries ----

TEST(PauseAfter, IsFullJitterOfADoublingBound) {
  const RetryPolicy policy{.backoff_first = absl::Milliseconds(100),
                           .backoff_max = absl::Seconds(1)};
  const absl::Status error = absl::UnavailableError("x");
  const struct {
    int attempt;
    double drawn;
    absl::Duration want;
  } kRows[] = {
      {1, 0, absl::ZeroDuration()},         {1, 0.5, absl::Milliseconds(50)},
      {2, 0.5, absl::Milliseconds(100)},    {3, 0.5, absl::Milliseconds(200)},
      {4, 0.5, absl::Milliseconds(400)},    {5, 0.5, absl::Milliseconds(500)},
      {1000, 0.5, absl::Milliseconds(500)},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(PauseAfter(policy, row.attempt, error, [&] { return row.drawn; }), row.want)
        << row.attempt << " " << row.drawn;
  }
}

TEST(PauseAfter, PutsTheServersOwnDelayBeforeIt) {
  const absl::Status error =
      ToAbslStatus(ServiceError(absl::StatusCode::kUnavailable, "DRAINING", absl::Seconds(1)));
  EXPECT_EQ(PauseAfter({}, 1, error, [] { return 0.0; }), absl::Seconds(1));
  EXPECT_EQ(PauseAfter({}, 1, error, [] { return 0.5; }), absl::Milliseconds(1050));
}

TEST(PauseAfter, IsNotAskedForByOthersThanTheService) {
  const absl::Status error = ToAbslStatus(ErrorDetails{
      .code = absl::StatusCode::kUnavailable, .domain = "proxy", .retry_delay = absl::Hours(1)});
  EXPECT_EQ(PauseAfter({}, 1, error, [] { return 0.5; }), absl::Milliseconds(50));
}

TEST(RandomFraction, IsSpreadOverItsRange) {
  static_assert(noexcept(RandomFraction()));
  double least = 1;
  double most = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double drawn = RandomFraction();
    ASSERT_THAT(drawn, AllOf(Ge(0), Lt(1)));
    least = std::min(least, drawn);
    most = std::max(most, drawn);
  }
  EXPECT_LT(least, 0.1);
  EXPECT_GT(most, 0.9);
}

class ClientTest : public testing::Test {
 protected:
  ScriptedService service_;
  Client client_ = service_.client();
};

TEST_F(ClientTest, SendsTheSameRequestIdInEachAttemptAndANewOneInEachCall) {
  service_.reserve.ThenFail(Broken(), 3);
  ASSERT_TRUE(client_.Reserve(kKey).ok());
  ASSERT_TRUE(client_.Reserve(kKey).ok());
  const auto sent = service_.reserve.requests();
  ASSERT_THAT(sent, SizeIs(5));
  EXPECT_THAT(sent[0].request_id(), SizeIs(32));
  for (int i = 1; i < 4; ++i) EXPECT_EQ(sent[i].request_id(), sent[0].request_id()) << i;
  EXPECT_NE(sent[4].request_id(), sent[0].request_id());
  EXPECT_EQ(client_.stats().attempts, 5);
  EXPECT_EQ(client_.stats().retries, 3);
}

TEST_F(ClientTest, SendsTheCallersRequestId) {
  ASSERT_TRUE(client_.Reserve(kKey, {.request_id = "mine"}).ok());
  EXPECT_EQ(service_.reserve.requests().at(0).request_id(), "mine");
}

TEST_F(ClientTest, RetriesUnavailableOnly) {
  for (int code = 1; code <= 16; ++code) {
    ScriptedService service;
    service.commit.OtherwiseFail(grpc::Status(static_cast<grpc::StatusCode>(code), "no"));
    const auto got = service.client().Commit(kKey, "t", {});
    const bool unavailable = code == static_cast<int>(grpc::StatusCode::UNAVAILABLE);
    const bool cut_off = code == static_cast<int>(grpc::StatusCode::CANCELLED);
    EXPECT_EQ(static_cast<int>(got.status().code()),
              cut_off ? static_cast<int>(grpc::StatusCode::UNAVAILABLE) : code);
    EXPECT_EQ(service.commit.calls(), unavailable || cut_off ? 4u : 1u) << code;
  }
}

// A server that ends cancels what it has not answered, without a word of its own.
TEST_F(ClientTest, CancelledByWhomCounts) {
  service_.commit.ThenFail(grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED"));
  EXPECT_TRUE(client_.Commit(kKey, "t", {}).ok());
  EXPECT_EQ(service_.commit.calls(), 2u);

  service_.release.ThenFail(ServiceError(absl::StatusCode::kCancelled, "CANCELLED"));
  EXPECT_TRUE(absl::IsCancelled(client_.Release(kKey, "t").status()));
  EXPECT_EQ(service_.release.calls(), 1u);
}

TEST_F(ClientTest, RetriesEveryCall) {
  service_.reserve.ThenFail(Broken());
  service_.commit.ThenFail(Broken());
  service_.release.ThenFail(Broken());
  service_.extend.ThenFail(Broken());
  service_.inspect.ThenFail(Broken());
  EXPECT_TRUE(client_.Reserve(kKey).ok());
  EXPECT_TRUE(client_.Commit(kKey, "t", {}).ok());
  EXPECT_TRUE(client_.Release(kKey, "t").ok());
  EXPECT_TRUE(client_.Extend(kKey, "t").ok());
  EXPECT_TRUE(client_.Inspect(kKey).ok());
  EXPECT_EQ(client_.stats().retries, 5);
}

TEST_F(ClientTest, WaitsAsLongAsTheServerAsks) {
  service_.inspect.ThenFail(
      ServiceError(absl::StatusCode::kUnavailable, "DRAINING", absl::Seconds(2)));
  const absl::Time start = service_.clock.Now();
  EXPECT_TRUE(client_.Inspect(kKey).ok());
  EXPECT_EQ(service_.clock.Now() - start, absl::Seconds(2));
}

TEST_F(ClientTest, DoesNotRetryPastItsDeadline) {
  service_.inspect.OtherwiseFail(
      ServiceError(absl::StatusCode::kUnavailable, "DRAINING", absl::Seconds(2)));
  EXPECT_EQ(DetailsOf(client_.Inspect(kKey).status()).reason, "DRAINING");
  EXPECT_EQ(service_.inspect.calls(), 3u);  // At 0 s, 2 s and 4 s of 5 s.
  const absl::Time deadline = service_.clock.WallNow() + absl::Seconds(1);
  EXPECT_FALSE(client_.Inspect(kKey, false, {.deadline = deadline}).ok());
  EXPECT_EQ(service_.inspect.calls(), 4u);
}

TEST_F(ClientTest, GivesEachAttemptTheDeadlineOfTheCall) {
  service_.reserve.ThenFail(Broken()).ThenFail(Broken());
  service_.uniform = 0.5;
  const absl::Time start = service_.clock.WallNow();
  ASSERT_TRUE(client_.Reserve(kKey, {.wait_timeout = absl::Seconds(20)}).ok());
  EXPECT_THAT(service_.reserve.deadlines(), AllOf(SizeIs(3), Each(start + absl::Seconds(25))));
  const absl::Time deadline = service_.clock.WallNow() + absl::Seconds(9);
  ASSERT_TRUE(client_.Release(kKey, "t", {.deadline = deadline}).ok());
  EXPECT_THAT(service_.release.deadlines(), ElementsAre(deadline));
}

TEST_F(ClientTest, StopsRetryingWhenToldToStop) {
  std::stop_source stop;
  service_.reserve.Otherwise([&](const auto&, auto&) {
    stop.request_stop();
    return Broken();
  });
  const auto got = client_.Reserve(kKey, {}, {.stop = stop.get_token()});
  EXPECT_EQ(got.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(service_.reserve.calls(), 1u);
  EXPECT_EQ(client_.Inspect(kKey, false, {.stop = stop.get_token()}).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(service_.inspect.calls(), 0u);
}

// ---- Verdicts ----

TEST_F(ClientTest, SendsWhatAReserveIsAbout) {
  ASSERT_TRUE(client_
                  .Reserve(kKey, {.fingerprint = "fp",
                                  .owner = "me",
                                  .lease_ttl = absl::Seconds(30),
                                  .wait_timeout = absl::Seconds(2)})
                  .ok());
  ASSERT_TRUE(client_.Reserve(kKey).ok());
  const auto sent = service_.reserve.requests();
  EXPECT_EQ(sent[0].namespace_(), "shop");
  EXPECT_EQ(sent[0].key(), "order-1");
  EXPECT_EQ(sent[0].fingerprint(), "fp");
  EXPECT_EQ(sent[0].owner(), "me");
  EXPECT_EQ(sent[0].lease_ttl().seconds(), 30);
  EXPECT_EQ(sent[0].wait_timeout().seconds(), 2);
  // The policy's defaults.
  EXPECT_FALSE(sent[1].has_lease_ttl());
  EXPECT_FALSE(sent[1].has_wait_timeout());
}

TEST_F(ClientTest, TellsVerdictsByTheirTypes) {
  const struct {
    int outcome;
    std::size_t index;
  } kRows[] = {
      {v1::OUTCOME_FRESH, 0},
      {v1::OUTCOME_REPLAYED, 1},
      {v1::OUTCOME_CONFLICT, 2},
      {v1::OUTCOME_MISMATCH, 3},
      {v1::OUTCOME_UNRESOLVED, 4},
      {v1::OUTCOME_UNSPECIFIED, 2},  // Not to be worked on.
      {99, 2},
  };
  for (const auto& row : kRows) {
    if (row.outcome != v1::OUTCOME_FRESH) {
      service_.ThenVerdict(static_cast<v1::Outcome>(row.outcome));
    }
    const auto got = client_.Reserve(kKey);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->index(), row.index) << row.outcome;
  }
}

TEST_F(ClientTest, AnAnswerWithoutWhatMattersIsAnError) {
  v1::ReserveResponse no_token = service_.FreshAnswer();
  no_token.mutable_reservation()->clear_token();
  service_.ThenVerdict(no_token);
  EXPECT_EQ(client_.Reserve(kKey).status().code(), absl::StatusCode::kInternal);
  v1::ReserveResponse no_result;
  no_result.set_outcome(v1::OUTCOME_REPLAYED);
  service_.ThenVerdict(no_result);
  EXPECT_EQ(client_.Reserve(kKey).status().code(), absl::StatusCode::kInternal);
}

// Which would be taken for a lease that never ends.
TEST_F(ClientTest, AGrantWithoutABelievableLeaseIsAnError) {
  const auto reserved = [this](const auto& change) {
    v1::ReserveResponse answer = service_.FreshAnswer();
    change(answer);
    service_.ThenVerdict(answer);
    return client_.Reserve(kKey).status().code();
  };
  const auto lease_of = [this](absl::Duration lease) {
    return [this, lease](v1::ReserveResponse& answer) {
      *answer.mutable_reservation()->mutable_lease_expire_time() =
          ToProtoTime(service_.ServerNow() + lease);
    };
  };
  EXPECT_EQ(reserved([](auto& answer) { answer.clear_server_time(); }),
            absl::StatusCode::kInternal);
  EXPECT_EQ(reserved([](auto& answer) { answer.mutable_reservation()->clear_lease_expire_time(); }),
            absl::StatusCode::kInternal);
  EXPECT_EQ(reserved(lease_of(absl::Hours(25))), absl::StatusCode::kInternal);
  EXPECT_EQ(reserved(lease_of(absl::Hours(24))), absl::StatusCode::kOk);
}

TEST_F(ClientTest, AnExtensionWithoutAnEndIsAnError) {
  service_.extend.Then([](const auto&, auto&) { return grpc::Status::OK; });
  EXPECT_EQ(client_.Extend(kKey, "t").status().code(), absl::StatusCode::kInternal);
}

TEST_F(ClientTest, TellsOfAHolder) {
  v1::ReserveResponse verdict = service_.VerdictOf(v1::OUTCOME_CONFLICT);
  verdict.mutable_holder()->set_fence(9);
  verdict.mutable_holder()->mutable_lease_expire_time()->set_seconds(3);
  service_.ThenVerdict(verdict);
  const auto got = client_.Reserve(kKey);
  ASSERT_TRUE(got.ok());
  const Holder& holder = std::get<Conflict>(*got).holder;
  EXPECT_EQ(holder.state, State::kPending);
  EXPECT_EQ(holder.owner, "another");
  EXPECT_EQ(holder.fence, 9);
  EXPECT_EQ(holder.lease_expire_time, absl::FromUnixSeconds(3));
  EXPECT_EQ(holder.retry_delay, absl::Milliseconds(500));
}

TEST_F(ClientTest, TellsOfARecord) {
  service_.inspect.Then([](const v1::InspectRequest& request, v1::InspectResponse& response) {
    EXPECT_TRUE(request.include_result());
    v1::Record& record = *response.mutable_record();
    record.set_state(v1::STATE_COMMITTED);
    record.set_fence(3);
    record.set_late(true);
    record.set_on_lapse(v1::ON_LAPSE_HOLD);
    record.mutable_previous()->set_checkpoint("c");
    record.mutable_result()->set_body("b");
    return grpc::Status::OK;
  });
  const auto record = client_.Inspect(kKey, /*include_result=*/true);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->state, State::kCommitted);
  EXPECT_EQ(record->fence, 3);
  EXPECT_TRUE(record->late);
  EXPECT_TRUE(record->held_on_lapse);
  EXPECT_EQ(record->expire_time, std::nullopt);
  ASSERT_TRUE(record->previous.has_value());
  EXPECT_EQ(record->previous->checkpoint, "c");
  ASSERT_TRUE(record->result.has_value());
  EXPECT_EQ(record->result->body, "b");
}

// ---- Results ----

TEST(ToProto, KeepsWhatFits) {
  const Result result{
      .status_code = 201, .headers = {{"a", "\xff"}, {"a", ""}, {"b", "2"}}, .body = {"x\0y", 3}};
  const v1::Result proto = ToProto(result);
  EXPECT_EQ(FromProto(proto), result);
  EXPECT_FALSE(proto.body_omitted());
}

TEST(ToProto, SendsOfABodyThatNoPolicyTakesOnlyWhatItIs) {
  const std::string largest(3 << 20, 'x');
  EXPECT_EQ(ToProto({.body = largest}).body().size(), largest.size());
  const v1::Result proto = ToProto({.body = largest + "x"});
  EXPECT_THAT(proto.body(), IsEmpty());
  EXPECT_TRUE(proto.body_omitted());
  EXPECT_EQ(proto.body_size(), (3 << 20) + 1);
  EXPECT_EQ(proto.body_sha256(), Sha256(largest + "x"));
}

// The server is to see that there were more, and to take the message all the same.
TEST(ToProto, SendsOfHeadersOneMoreThanFits) {
  EXPECT_EQ(ToProto({.headers = std::vector<Header>(64, {"n", "v"})}).headers_size(), 64);
  EXPECT_EQ(ToProto({.headers = std::vector<Header>(1000, {"n", "v"})}).headers_size(), 65);
  const v1::Result large =
      ToProto({.headers = {{"a", "1"}, {"b", std::string(8 << 20, 'x')}, {"c", "3"}}});
  EXPECT_EQ(large.headers_size(), 2);
  EXPECT_GT(large.headers(1).value().size(), 16u << 10);
  EXPECT_LT(large.ByteSizeLong(), 40u << 10);
}

// The server would refuse the whole Commit for a name that isn't UTF-8.
TEST(ToProto, MakesTextOfHeaderNames) {
  EXPECT_EQ(ToProto({.headers = {{"X-M\xfcller", "\xfc"}}}).headers(0).name(),
            "X-M\xef\xbf\xbdller");
  EXPECT_EQ(ToProto({.headers = {{"X-M\xfcller", "\xfc"}}}).headers(0).value(), "\xfc");
  std::string euros;
  for (int i = 0; i < 10'000; ++i) euros += "\xe2\x82\xac";
  const std::string cut = ToProto({.headers = {{euros, "v"}}}).headers(0).name();
  EXPECT_EQ(cut.size() % 3, 0u);
  EXPECT_GT(cut.size(), 16u << 10);
  EXPECT_LE(cut.size(), (16u << 10) + 3);
}

// ---- Reservation ----

class ReservationTest : public ClientTest {
 protected:
  Reservation Granted(const ReserveOptions& options = {}) {
    auto reserved = client_.Reserve(kKey, options);
    return std::move(std::get<Fresh>(*reserved).reservation);
  }
};

TEST_F(ReservationTest, DestroyedDoesNothing) {
  { const Reservation reservation = Granted(); }
  EXPECT_EQ(service_.commit.calls() + service_.release.calls() + service_.extend.calls(), 0u);
}

TEST_F(ReservationTest, SettlesWithItsToken) {
  Reservation reservation = Granted();
  Reservation moved = std::move(reservation);
  EXPECT_EQ(moved.key().name, "order-1");
  EXPECT_EQ(moved.fence(), 7);
  EXPECT_EQ(moved.attempt(), 1);
  EXPECT_FALSE(moved.previous().has_value());
  ASSERT_TRUE(moved.Commit({.body = "b"}, {.retention_ttl = absl::Hours(1)}).ok());
  const v1::CommitRequest commit = service_.commit.requests().at(0);
  EXPECT_EQ(commit.namespace_(), "shop");
  EXPECT_EQ(commit.key(), "order-1");
  EXPECT_EQ(commit.token(), "token-7");
  EXPECT_EQ(commit.result().body(), "b");
  EXPECT_EQ(commit.retention_ttl().seconds(), 3600);
  EXPECT_TRUE(moved.Release().value());
  EXPECT_EQ(service_.release.requests().at(0).token(), "token-7");
}

TEST_F(ReservationTest, OutlivesTheClient) {
  auto client = std::make_unique<Client>(client_);
  Reservation reservation = std::move(std::get<Fresh>(*client->Reserve(kKey)).reservation);
  client.reset();
  EXPECT_TRUE(reservation.Commit({}).ok());
}

// Counted from when it was sent, which is before the server counted from.
TEST_F(ReservationTest, KnowsHowMuchOfTheLeaseIsLeft) {
  service_.reserve.ThenFail(Broken()).Then([this](const auto&, auto& response) {
    service_.clock.Advance(absl::Seconds(1));  // On the way there.
    response = service_.FreshAnswer();
    service_.clock.Advance(absl::Seconds(2));  // And back.
    return grpc::Status::OK;
  });
  Reservation reservation = Granted();
  EXPECT_EQ(reservation.lease_left(), ScriptedService::kLease - absl::Seconds(3));
  service_.clock.Advance(ScriptedService::kLease);
  EXPECT_EQ(reservation.lease_left(), -absl::Seconds(3));
}

TEST_F(ReservationTest, ExtendMovesTheLeasesEnd) {
  Reservation reservation = Granted();
  service_.clock.Advance(absl::Seconds(10));
  ASSERT_TRUE(reservation.Extend().ok());
  EXPECT_EQ(reservation.lease_left(), ScriptedService::kLease);
  ASSERT_TRUE(reservation.Extend({.lease_ttl = absl::Minutes(5), .checkpoint = "half way"}).ok());
  EXPECT_EQ(reservation.lease_left(), absl::Minutes(5));
  const auto sent = service_.extend.requests();
  EXPECT_FALSE(sent[0].has_checkpoint());
  EXPECT_EQ(sent[1].checkpoint(), "half way");
  EXPECT_EQ(sent[1].token(), "token-7");
  service_.extend.ThenFail(ServiceError(absl::StatusCode::kAborted, "SUPERSEDED"));
  EXPECT_EQ(DetailsOf(reservation.Extend()).reason, "SUPERSEDED");
  EXPECT_EQ(reservation.lease_left(), absl::Minutes(5));
}

// The server takes nothing of a lease, and answers may overtake each other.
TEST_F(ReservationTest, NoExtendMakesTheLeaseShorter) {
  Reservation reservation = Granted();
  const absl::Time granted = service_.ServerNow();
  const auto extend_to = [&](absl::Duration end) {
    service_.extend.Then([=](const auto&, auto& response) {
      *response.mutable_lease_expire_time() = ToProtoTime(granted + end);
      return grpc::Status::OK;
    });
    EXPECT_TRUE(reservation.Extend().ok());
    return reservation.lease_left();
  };
  EXPECT_EQ(extend_to(absl::Seconds(40)), absl::Seconds(40));
  EXPECT_EQ(extend_to(absl::Seconds(35)), absl::Seconds(40));
  EXPECT_EQ(extend_to(absl::Seconds(45)), absl::Seconds(45));
}

TEST_F(ReservationTest, AnExtendThatIsAnsweredSoonMakesUpForASlowGrant) {
  service_.reserve.Then([this](const auto&, auto& response) {
    service_.clock.Advance(absl::Seconds(3));
    response = service_.FreshAnswer();
    return grpc::Status::OK;
  });
  Reservation reservation = Granted();
  EXPECT_EQ(reservation.lease_left(), ScriptedService::kLease - absl::Seconds(3));
  ASSERT_TRUE(reservation.Extend({.lease_ttl = ScriptedService::kLease}).ok());
  EXPECT_EQ(reservation.lease_left(), ScriptedService::kLease);
}

TEST_F(ReservationTest, KnowsWhomItTookOverFrom) {
  v1::ReserveResponse takeover = service_.FreshAnswer();
  v1::Previous& previous = *takeover.mutable_reservation()->mutable_previous();
  previous.set_fence(6);
  previous.set_owner("gone");
  previous.set_checkpoint("half way");
  takeover.mutable_reservation()->set_attempt(2);
  service_.ThenVerdict(takeover);
  const Reservation reservation = Granted();
  ASSERT_TRUE(reservation.previous().has_value());
  EXPECT_EQ(reservation.previous()->fence, 6);
  EXPECT_EQ(reservation.previous()->owner, "gone");
  EXPECT_EQ(reservation.previous()->checkpoint, "half way");
  EXPECT_EQ(reservation.attempt(), 2);
}

}  // namespace
}  // namespace onced::client
