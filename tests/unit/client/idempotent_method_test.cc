#include "client/cpp/idempotent_method.h"

#include <stdexcept>

#include "charges.pb.h"
#include "client/cpp/fingerprint.h"
#include "client/cpp/message_fingerprint.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/test/server_context_test_spouse.h"
#include "gtest/gtest.h"
#include "tests/integration/charges/charges.h"
#include "tests/unit/client/fake_server.h"
#include "tests/unit/client/scripted_stub.h"

namespace onced::client {
namespace {

using test::charges::ChargeRequest;
using test::charges::ChargeResponse;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kName[] = "/onced.test.charges.Charges/Charge";

// ---- ByGrpcStatus ----

TEST(ByGrpcStatus, IsAsInTheTable) {
  constexpr auto kCommit = Verdict::kCommit;
  constexpr auto kUnknown = Verdict::kUnknown;
  const struct {
    int code;
    Verdict want;
  } kCodes[] = {
      {grpc::OK, kCommit},
      {grpc::CANCELLED, kUnknown},
      {grpc::UNKNOWN, kUnknown},
      {grpc::INVALID_ARGUMENT, kCommit},
      {grpc::DEADLINE_EXCEEDED, kUnknown},
      {grpc::NOT_FOUND, kCommit},
      {grpc::ALREADY_EXISTS, kCommit},
      {grpc::PERMISSION_DENIED, kCommit},
      {grpc::RESOURCE_EXHAUSTED, kUnknown},
      {grpc::FAILED_PRECONDITION, kCommit},
      {grpc::ABORTED, kUnknown},
      {grpc::OUT_OF_RANGE, kCommit},
      {grpc::UNIMPLEMENTED, kCommit},
      {grpc::INTERNAL, kUnknown},
      {grpc::UNAVAILABLE, kUnknown},
      {grpc::DATA_LOSS, kUnknown},
      {grpc::UNAUTHENTICATED, kUnknown},
      {17, kUnknown},
      {-1, kUnknown},
  };
  for (const auto& row : kCodes) {
    const grpc::Status status(static_cast<grpc::StatusCode>(row.code), "");
    EXPECT_EQ(ByGrpcStatus(status, ChargeResponse()), row.want) << row.code;
  }
}

// ---- Run ----

const char* NameOf(const absl::StatusOr<RunOutcome>& outcome) {
  constexpr const char* kNames[] = {"Done",      "Replayed",     "Conflict",
                                    "Mismatch",  "Unresolved",   "NothingDone",
                                    "Undecided", "NotCommitted", "Unprotected"};
  return outcome.ok() ? kNames[outcome->index()] : "error";
}

class IdempotentMethodTest : public testing::Test {
 protected:
  IdempotentMethodTest() {
    options_ = {.name_space = "shop",
                .scope = [](const auto&) { return "acme"; },
                .classifier = ByGrpcStatus,
                .observer = [this](const auto& outcome) { observed_.push_back(NameOf(outcome)); }};
    request_.set_order("order-1");
    request_.set_cents(1999);
  }

  absl::StatusOr<IdempotentMethod> Create() {
    return IdempotentMethod::Create(service_.client(), kName, *ChargeRequest::descriptor(),
                                    options_);
  }
  // One call, with the metadata that `sent` has.
  grpc::Status Run(const IdempotentMethod::Handler& handler) {
    const absl::StatusOr<IdempotentMethod> method = Create();
    EXPECT_TRUE(method.ok()) << method.status();
    if (!method.ok()) return {grpc::INTERNAL, "not created"};
    grpc::ServerContext context;
    grpc::testing::ServerContextTestSpouse spouse(&context);
    for (const auto& [name, value] : sent_) spouse.AddClientMetadata(name, value);
    response_.set_charge_id("left by whoever had it before");
    const grpc::Status status = method->Run(context, request_, response_, handler);
    trailers_ = spouse.GetTrailingMetadata();
    return status;
  }
  grpc::Status Run(const grpc::Status& status = grpc::Status::OK) {
    return Run([&](WorkContext&) {
      ++runs_;
      response_.set_charge_id("charge 7");
      return status;
    });
  }
  // The stored result is replayed to the next call.
  void Store(int code, const std::vector<Header>& headers, const std::string& body,
             bool omitted = false) {
    v1::ReserveResponse verdict;
    verdict.set_outcome(v1::OUTCOME_REPLAYED);
    v1::Result& result = *verdict.mutable_replay()->mutable_result();
    result.set_status_code(code);
    for (const Header& header : headers) {
      result.add_headers()->set_name(header.name);
      result.mutable_headers()->rbegin()->set_value(header.value);
    }
    result.set_body(body);
    result.set_body_omitted(omitted);
    service_.ThenVerdict(verdict);
  }
  bool Replayed() const {
    return trailers_ == std::multimap<std::string, std::string>{{kReplayedMetadata, "true"}};
  }
  std::string Settled() const {
    return "commit " + std::to_string(service_.commit.calls()) + " release " +
           std::to_string(service_.release.calls());
  }
  static ErrorDetails DetailsOf(const grpc::Status& status) {
    return client::DetailsOf(ToAbslStatus(status));
  }
  static std::string ReasonOf(const grpc::Status& status) {
    const ErrorDetails details = DetailsOf(status);
    EXPECT_EQ(details.domain, kMethodDomain) << status.error_message();
    return details.reason;
  }

  ScriptedService service_;
  MethodOptions options_;
  std::map<std::string, std::string> sent_{{kKeyMetadata, "order-1"}};
  ChargeRequest request_;
  ChargeResponse response_;
  std::multimap<std::string, std::string> trailers_;
  std::vector<std::string> observed_;
  int runs_ = 0;
};

TEST_F(IdempotentMethodTest, RefusesOptionsThatLackWhatIsRequired) {
  const MethodOptions good = options_;
  EXPECT_TRUE(Create().ok());
  const struct {
    const char* problem;
    std::function<void(MethodOptions&)> change;
  } kRows[] = {
      {"name_space", [](auto& o) { o.name_space = ""; }},
      {"scope", [](auto& o) { o.scope = nullptr; }},
      {"classifier", [](auto& o) { o.classifier = nullptr; }},
      {"fail_open", [](auto& o) { o.fail_open = FailOpen{}; }},
      {"settle_timeout", [](auto& o) { o.settle_timeout = absl::ZeroDuration(); }},
      {"keep_max", [](auto& o) { o.keep_max = -absl::Seconds(1); }},
      {"\"meta.nope\"",
       [](auto& o) {
         o.excluded_fields = {"order", "meta.nope"};
       }},
  };
  for (const auto& row : kRows) {
    options_ = good;
    row.change(options_);
    const absl::Status status = Create().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.problem;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.problem));
  }
  EXPECT_FALSE(
      IdempotentMethod::Create(service_.client(), "", *ChargeRequest::descriptor(), good).ok());
}

TEST_F(IdempotentMethodTest, AsksForTheKeyOfItsScope) {
  options_.owner = "me";
  options_.lease_ttl = absl::Seconds(40);
  options_.wait_timeout = absl::Seconds(3);
  options_.retention_ttl = absl::Hours(48);
  EXPECT_TRUE(Run().ok());
  const v1::ReserveRequest reserve = service_.reserve.requests().at(0);
  EXPECT_EQ(reserve.namespace_(), "shop");
  EXPECT_EQ(reserve.key(), "acme/order-1");
  EXPECT_EQ(reserve.fingerprint(), Fingerprint({kName, MessageFingerprint(request_).value()}));
  EXPECT_EQ(reserve.owner(), "me");
  EXPECT_EQ(reserve.lease_ttl().seconds(), 40);
  EXPECT_EQ(reserve.wait_timeout().seconds(), 3);
  EXPECT_EQ(service_.commit.requests().at(0).retention_ttl().seconds(), 48 * 3600);
}

TEST_F(IdempotentMethodTest, TakesExcludedFieldsForNoPartOfTheRequest) {
  options_.excluded_fields = {"meta.trace_id"};
  for (const char* trace : {"t1", "t2"}) {
    request_.mutable_meta()->set_trace_id(trace);
    EXPECT_TRUE(Run().ok());
  }
  request_.set_cents(5);
  EXPECT_TRUE(Run().ok());
  const auto sent = service_.reserve.requests();
  EXPECT_EQ(sent[0].fingerprint(), sent[1].fingerprint());
  EXPECT_NE(sent[0].fingerprint(), sent[2].fingerprint());
}

// ---- Without a good key ----

TEST_F(IdempotentMethodTest, RefusesACallWithoutAKey) {
  sent_.clear();
  const grpc::Status status = Run();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "IDEMPOTENCY_KEY_REQUIRED");
  EXPECT_EQ(DetailsOf(status).violations.at(0).field, "idempotency-key");
  // Some clients read code and message here.
  google::rpc::Status proto;
  ASSERT_TRUE(proto.ParseFromString(status.error_details()));
  EXPECT_EQ(proto.code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(proto.message(), status.error_message());
  EXPECT_EQ(service_.reserve.calls(), 0u);
  EXPECT_EQ(runs_, 0);
}

TEST_F(IdempotentMethodTest, HandlesACallWithoutAKeyIfNoneIsRequired) {
  options_.key_required = false;
  sent_.clear();
  EXPECT_TRUE(Run([&](WorkContext& work) {
                EXPECT_TRUE(work.unprotected());
                EXPECT_FALSE(work.takeover());
                ++runs_;
                return grpc::Status::OK;
              }).ok());
  EXPECT_EQ(Run({grpc::UNAVAILABLE, "try later"}).error_message(), "try later");
  EXPECT_EQ(Run([](WorkContext&) -> grpc::Status { throw std::runtime_error("x"); }).error_code(),
            grpc::UNKNOWN);
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(service_.reserve.calls(), 0u);
  EXPECT_THAT(observed_, IsEmpty());
  EXPECT_THAT(trailers_, IsEmpty());
  for (const char* malformed : {"", "\"a", "a,b"}) {
    sent_[kKeyMetadata] = malformed;
    EXPECT_EQ(ReasonOf(Run()), "IDEMPOTENCY_KEY_INVALID") << malformed;
  }
  EXPECT_EQ(runs_, 2);
}

TEST_F(IdempotentMethodTest, RefusesAKeyThatIsTooLongForItsScope) {
  sent_[kKeyMetadata] = std::string(252, 'k');
  EXPECT_EQ(ReasonOf(Run()), "IDEMPOTENCY_KEY_INVALID");
  EXPECT_EQ(runs_, 0);
  sent_[kKeyMetadata] = std::string(251, 'k');
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(service_.reserve.requests().at(0).key().size(), 256u);
}

TEST_F(IdempotentMethodTest, RefusesACallWhoseScopeIsNotKnown) {
  options_.scope = [](const auto&) {
    return ToAbslStatus(ErrorDetails{.code = absl::StatusCode::kUnauthenticated,
                                     .message = "who is it?",
                                     .reason = "NO_TOKEN",
                                     .domain = "shop.example"});
  };
  const grpc::Status status = Run();
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(status.error_message(), "who is it?");
  EXPECT_EQ(DetailsOf(status).reason, "NO_TOKEN");
  options_.scope = [](const auto&) { return absl::PermissionDeniedError("\xc3\xa4h"); };
  EXPECT_EQ(Run().error_message(), "\xc3\xa4h");
  options_.scope = [](const auto&) { return ""; };
  EXPECT_EQ(ReasonOf(Run()), "IDEMPOTENCY_REFUSED");
  options_.scope = [](const auto&) -> absl::StatusOr<std::string> {
    throw std::runtime_error("x");
  };
  EXPECT_EQ(Run().error_code(), grpc::UNKNOWN);
  EXPECT_EQ(service_.reserve.calls(), 0u);
  EXPECT_EQ(runs_, 0);
}

TEST_F(IdempotentMethodTest, RefusesWhatTheProgramGotWrong) {
  const IdempotentMethod method = *Create();
  grpc::ServerContext context;
  const ChargeResponse other;
  EXPECT_EQ(
      method.Run(context, other, response_, [](auto&) { return grpc::Status::OK; }).error_code(),
      grpc::INTERNAL);
  EXPECT_EQ(Run(IdempotentMethod::Handler()).error_code(), grpc::INTERNAL);
  EXPECT_EQ(service_.reserve.calls(), 0u);
}

// ---- Every outcome ----

TEST_F(IdempotentMethodTest, StoresWhatTheHandlerAnswered) {
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(response_.charge_id(), "charge 7");
  EXPECT_THAT(trailers_, IsEmpty());
  EXPECT_THAT(observed_, testing::ElementsAre("Done"));
  const v1::Result result = service_.commit.requests().at(0).result();
  EXPECT_EQ(result.status_code(), 0);
  EXPECT_EQ(result.headers_size(), 0);
  EXPECT_EQ(result.body(), response_.SerializeAsString());
  EXPECT_EQ(Settled(), "commit 1 release 0");
}

TEST_F(IdempotentMethodTest, StoresAFinalFailure) {
  const grpc::Status declined(grpc::FAILED_PRECONDITION, "declined", std::string("\0details", 8));
  const grpc::Status status = Run(declined);
  EXPECT_EQ(status.error_code(), declined.error_code());
  EXPECT_EQ(status.error_message(), "declined");
  EXPECT_EQ(status.error_details(), declined.error_details());
  const v1::Result result = service_.commit.requests().at(0).result();
  EXPECT_EQ(result.status_code(), grpc::FAILED_PRECONDITION);
  ASSERT_EQ(result.headers_size(), 2);
  EXPECT_EQ(result.headers(0).name(), "grpc-message");
  EXPECT_EQ(result.headers(0).value(), "declined");
  EXPECT_EQ(result.headers(1).name(), "grpc-status-details-bin");
  EXPECT_EQ(result.headers(1).value(), declined.error_details());
  EXPECT_EQ(result.body(), "") << "no response goes with a failure";
  EXPECT_THAT(observed_, testing::ElementsAre("Done"));
}

// So that there is room for details, too.
TEST_F(IdempotentMethodTest, StoresLongMessagesUpToABound) {
  std::string text(4095, 'x');
  text += "\xc3\xa4 and more";
  EXPECT_EQ(Run({grpc::NOT_FOUND, text, "details"}).error_message(), text);
  const v1::Result result = service_.commit.requests().at(0).result();
  EXPECT_EQ(result.headers(0).value(), std::string(4095, 'x')) << "no half of a character";
  EXPECT_EQ(result.headers(1).value(), "details");
  EXPECT_FALSE(Run({grpc::NOT_FOUND, std::string(4096, 'y')}).ok());
  EXPECT_EQ(service_.commit.requests().at(1).result().headers(0).value().size(), 4096u);
  // Bytes that are no text at all.
  EXPECT_FALSE(Run({grpc::NOT_FOUND, std::string(5000, '\x80')}).ok());
  EXPECT_EQ(service_.commit.requests().at(2).result().headers(0).value(), "");
}

TEST_F(IdempotentMethodTest, AnswersAsTheHandlerDidWhateverBecameOfTheKey) {
  options_.classifier = [](const grpc::Status& status, const auto& response) {
    const bool busy = status.error_code() == grpc::RESOURCE_EXHAUSTED;
    return busy ? Verdict::kRelease : ByGrpcStatus(status, response);
  };
  const grpc::Status kBusy(grpc::RESOURCE_EXHAUSTED, "busy", "d");
  const grpc::Status kBad(grpc::INTERNAL, "bad", "d");
  const grpc::Status kDeclined(grpc::FAILED_PRECONDITION, "declined", "d");
  const struct {
    const char* outcome;
    grpc::Status handler;
    grpc::Status commit;
    const char* settled;
  } kRows[] = {
      {"Done", grpc::Status::OK, grpc::Status::OK, "commit 1 release 0"},
      {"Done", kDeclined, grpc::Status::OK, "commit 1 release 0"},
      {"NothingDone", kBusy, grpc::Status::OK, "commit 0 release 1"},
      {"Undecided", kBad, grpc::Status::OK, "commit 0 release 0"},
      {"NotCommitted", grpc::Status::OK, ServiceError(absl::StatusCode::kAborted, "SUPERSEDED"),
       "commit 1 release 0"},
      {"NotCommitted", kDeclined,
       ServiceError(absl::StatusCode::kFailedPrecondition, "COMMITTED_DIFFERENTLY"),
       "commit 1 release 0"},
  };
  for (const auto& row : kRows) {
    const std::size_t commits = service_.commit.calls();
    const std::size_t releases = service_.release.calls();
    service_.commit.OtherwiseFail(row.commit);
    const grpc::Status status = Run(row.handler);
    EXPECT_EQ(observed_.back(), row.outcome);
    EXPECT_EQ(status.error_code(), row.handler.error_code()) << row.outcome;
    EXPECT_EQ(status.error_message(), row.handler.error_message());
    EXPECT_EQ(status.error_details(), row.handler.error_details());
    EXPECT_EQ(response_.charge_id(), "charge 7");
    EXPECT_THAT(trailers_, IsEmpty());
    EXPECT_EQ("commit " + std::to_string(service_.commit.calls() - commits) + " release " +
                  std::to_string(service_.release.calls() - releases),
              row.settled);
  }
}

TEST_F(IdempotentMethodTest, AsksTheClassifierWithWhatTheHandlerAnswered) {
  int asked = 0;
  options_.classifier = [&](const grpc::Status& status, const google::protobuf::Message& response) {
    ++asked;
    EXPECT_EQ(status.error_message(), "bad");
    EXPECT_EQ(static_cast<const ChargeResponse&>(response).charge_id(), "charge 7");
    return Verdict::kCommit;
  };
  EXPECT_EQ(Run({grpc::INTERNAL, "bad"}).error_code(), grpc::INTERNAL);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(Settled(), "commit 1 release 0");
}

TEST_F(IdempotentMethodTest, ReplaysAResponse) {
  ChargeResponse stored;
  stored.set_receipt("r");
  Store(0, {}, stored.SerializeAsString());
  const grpc::Status status = Run();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response_.SerializeAsString(), stored.SerializeAsString()) << "and nothing else";
  EXPECT_TRUE(Replayed());
  EXPECT_EQ(runs_, 0);
  EXPECT_THAT(observed_, testing::ElementsAre("Replayed"));
}

TEST_F(IdempotentMethodTest, ReplaysAFailure) {
  const std::string details("\0details", 8);
  Store(9, {{"grpc-message", "declined"}, {"grpc-status-details-bin", details}}, "");
  const grpc::Status status = Run();
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "declined");
  EXPECT_EQ(status.error_details(), details);
  EXPECT_EQ(response_.ByteSizeLong(), 0u);
  EXPECT_TRUE(Replayed());
  // Of which not all was kept.
  Store(9, {{"grpc-message", "declined"}}, "");
  EXPECT_EQ(Run().error_message(), "declined");
  Store(16, {}, "");
  EXPECT_EQ(Run().error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(runs_, 0);
}

TEST_F(IdempotentMethodTest, SaysThatItWasDoneWhereTheResponseIsGone) {
  ChargeResponse stored;
  stored.set_charge_id("7");
  const struct {
    const char* name;
    int code;
    std::string body;
    bool omitted;
  } kRows[] = {
      {"omitted", 0, "", true},
      {"cut", 0, stored.SerializeAsString().substr(0, 2), false},
      {"no_message", 0, "charged!", false},
      {"http", 200, stored.SerializeAsString(), false},
      {"negative", -1, "", false},
      {"beyond_the_codes", 17, "", false},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    Store(row.code, {}, row.body, row.omitted);
    const grpc::Status status = Run();
    EXPECT_EQ(status.error_code(), grpc::DATA_LOSS);
    EXPECT_EQ(ReasonOf(status), "IDEMPOTENCY_RESPONSE_NOT_KEPT");
    EXPECT_EQ(response_.ByteSizeLong(), 0u);
    EXPECT_TRUE(Replayed());
  }
  EXPECT_EQ(runs_, 0);
}

TEST_F(IdempotentMethodTest, RefusesOnEveryOtherVerdict) {
  const struct {
    const char* outcome;
    v1::Outcome verdict;
    grpc::StatusCode code;
    const char* reason;
    std::optional<absl::Duration> retry_delay;
  } kRows[] = {
      {"Conflict", v1::OUTCOME_CONFLICT, grpc::ABORTED, "IDEMPOTENCY_IN_PROGRESS",
       absl::Milliseconds(500)},
      {"Conflict", v1::OUTCOME_UNSPECIFIED, grpc::ABORTED, "IDEMPOTENCY_IN_PROGRESS",
       absl::Milliseconds(500)},
      {"Unresolved", v1::OUTCOME_UNRESOLVED, grpc::ABORTED, "IDEMPOTENCY_UNRESOLVED", {}},
      {"Mismatch", v1::OUTCOME_MISMATCH, grpc::FAILED_PRECONDITION, "IDEMPOTENCY_KEY_REUSED", {}},
  };
  for (const auto& row : kRows) {
    service_.ThenVerdict(row.verdict);
    const grpc::Status status = Run();
    EXPECT_EQ(observed_.back(), row.outcome);
    EXPECT_EQ(status.error_code(), row.code) << row.outcome;
    EXPECT_EQ(ReasonOf(status), row.reason);
    EXPECT_EQ(DetailsOf(status).retry_delay, row.retry_delay);
    EXPECT_THAT(trailers_, IsEmpty());
  }
  EXPECT_EQ(runs_, 0);
}

// ---- Without onced ----

TEST_F(IdempotentMethodTest, IsUnavailableWithoutOnced) {
  const struct {
    grpc::StatusCode code;
    grpc::StatusCode want;
  } kCodes[] = {
      {grpc::CANCELLED, grpc::UNAVAILABLE},
      {grpc::UNKNOWN, grpc::UNAVAILABLE},
      {grpc::INVALID_ARGUMENT, grpc::INTERNAL},
      {grpc::DEADLINE_EXCEEDED, grpc::UNAVAILABLE},
      {grpc::NOT_FOUND, grpc::UNAVAILABLE},
      {grpc::ALREADY_EXISTS, grpc::INTERNAL},
      {grpc::PERMISSION_DENIED, grpc::INTERNAL},
      {grpc::RESOURCE_EXHAUSTED, grpc::UNAVAILABLE},
      {grpc::FAILED_PRECONDITION, grpc::UNAVAILABLE},
      {grpc::ABORTED, grpc::UNAVAILABLE},
      {grpc::OUT_OF_RANGE, grpc::INTERNAL},
      {grpc::UNIMPLEMENTED, grpc::INTERNAL},
      {grpc::INTERNAL, grpc::UNAVAILABLE},
      {grpc::UNAVAILABLE, grpc::UNAVAILABLE},
      {grpc::DATA_LOSS, grpc::UNAVAILABLE},
      {grpc::UNAUTHENTICATED, grpc::INTERNAL},
  };
  ASSERT_EQ(std::size(kCodes), 16u);
  for (const auto& row : kCodes) {
    service_.reserve.OtherwiseFail({row.code, "onced's own secrets"});
    const grpc::Status status = Run();
    EXPECT_EQ(status.error_code(), row.want) << row.code;
    const bool again = row.want == grpc::UNAVAILABLE;
    EXPECT_EQ(ReasonOf(status), again ? "IDEMPOTENCY_UNAVAILABLE" : "IDEMPOTENCY_REFUSED");
    EXPECT_EQ(DetailsOf(status).retry_delay.has_value(), again) << row.code;
    EXPECT_THAT(status.error_message(), testing::Not(HasSubstr("secrets")));
    EXPECT_EQ(observed_.back(), "error");
  }
  EXPECT_EQ(runs_, 0);
}

TEST_F(IdempotentMethodTest, HandsOnHowLongToWait) {
  service_.reserve.OtherwiseFail(
      ServiceError(absl::StatusCode::kResourceExhausted, "QUEUE_FULL", absl::Seconds(7)));
  EXPECT_EQ(DetailsOf(Run()).retry_delay, absl::Seconds(7));
}

TEST_F(IdempotentMethodTest, FailsOpenOnlyIfToldTo) {
  service_.reserve.OtherwiseFail(Broken());
  std::vector<std::string> reports;
  options_.fail_open =
      FailOpen{[&](const Key& key, const absl::Status&) { reports.push_back(key.name); }};
  EXPECT_TRUE(Run([&](WorkContext& work) {
                EXPECT_TRUE(work.unprotected());
                response_.set_charge_id("unprotected");
                return grpc::Status::OK;
              }).ok());
  EXPECT_EQ(response_.charge_id(), "unprotected");
  EXPECT_EQ(Run({grpc::NOT_FOUND, "no order"}).error_message(), "no order");
  EXPECT_EQ(Run([](WorkContext&) -> grpc::Status { throw 1; }).error_code(), grpc::UNKNOWN);
  EXPECT_THAT(reports, testing::ElementsAre("acme/order-1", "acme/order-1", "acme/order-1"));
  EXPECT_EQ(observed_.back(), "Unprotected");
}

// ---- Exceptions ----

TEST_F(IdempotentMethodTest, AnswersAnExceptionAsGrpcDoes) {
  const grpc::Status status = Run([&](WorkContext&) -> grpc::Status {
    ++runs_;
    throw std::runtime_error("secrets");
  });
  EXPECT_EQ(status.error_code(), grpc::UNKNOWN);
  EXPECT_EQ(status.error_message(), "Unexpected error in RPC handling");
  EXPECT_THAT(observed_, testing::ElementsAre("Undecided"));
  EXPECT_EQ(Settled(), "commit 0 release 0");
  EXPECT_EQ(runs_, 1);
}

TEST_F(IdempotentMethodTest, SurvivesExceptionsOfTheOthers) {
  options_.classifier = [](const auto&, const auto&) -> Verdict { throw 1; };
  EXPECT_TRUE(Run().ok()) << "the handler did answer";
  EXPECT_THAT(observed_, testing::ElementsAre("Undecided"));
  options_.classifier = ByGrpcStatus;
  options_.observer = [](const auto&) { throw 1; };
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(Settled(), "commit 1 release 0");
  options_.fail_open = FailOpen{[](const auto&, const auto&) { throw 1; }};
  service_.reserve.OtherwiseFail(Broken());
  EXPECT_EQ(Run().error_code(), grpc::UNKNOWN);
  EXPECT_EQ(runs_, 2);
}

TEST_F(IdempotentMethodTest, TellsTheHandlerOfATakeover) {
  v1::ReserveResponse takeover = service_.FreshAnswer();
  takeover.mutable_reservation()->set_attempt(2);
  takeover.mutable_reservation()->mutable_previous()->set_checkpoint("half way");
  service_.ThenVerdict(takeover);
  EXPECT_TRUE(Run([](WorkContext& work) {
                EXPECT_TRUE(work.takeover());
                EXPECT_EQ(work.previous()->checkpoint, "half way");
                EXPECT_EQ(work.fence(), 7);
                return grpc::Status::OK;
              }).ok());
}

// ---- Over the wire ----

TEST_F(IdempotentMethodTest, SendsTheTraceContext) {
  FakeServer server;
  server.reserve.response = service_.FreshAnswer();
  const auto method = IdempotentMethod::Create(Client::Connect(server.target()), kName,
                                               *ChargeRequest::descriptor(), options_);
  ASSERT_TRUE(method.ok()) << method.status();
  grpc::ServerContext context;
  grpc::testing::ServerContextTestSpouse spouse(&context);
  spouse.AddClientMetadata(kKeyMetadata, "k");
  spouse.AddClientMetadata("traceparent", "00-1-2-01");
  spouse.AddClientMetadata("tracestate", "vendor=1");
  EXPECT_TRUE(
      method->Run(context, request_, response_, [](auto&) { return grpc::Status::OK; }).ok());
  EXPECT_EQ(server.reserve.traceparent, "00-1-2-01");
  EXPECT_EQ(server.commit.traceparent, "00-1-2-01");
  EXPECT_EQ(server.commit.tracestate, "vendor=1");
  // A call that has no deadline is no reason to wait for ever.
  EXPECT_LT(server.reserve.time_left, std::chrono::minutes(1));
}

TEST_F(IdempotentMethodTest, SendsItsCallersDeadline) {
  FakeServer server;
  server.reserve.response = service_.FreshAnswer();
  options_.observer = nullptr;
  integration::ChargesServer charges(Client::Connect(server.target()), options_);
  charges.handle = [](auto&, auto&, const auto&, auto&) { return grpc::Status::OK; };
  const auto stub = test::charges::Charges::NewStub(
      grpc::CreateChannel(charges.address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.AddMetadata(kKeyMetadata, "k");
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(2));
  const grpc::Status status = stub->Charge(&context, request_, &response_);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(server.reserve.time_left, std::chrono::hours(1));
  EXPECT_LT(server.reserve.time_left, std::chrono::hours(3));
}

}  // namespace
}  // namespace onced::client
