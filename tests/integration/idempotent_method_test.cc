// A user's own service, a real server of ours behind it, and real connections between all.
#include "client/cpp/idempotent_method.h"

#include <atomic>
#include <csignal>
#include <future>
#include <stdexcept>

#include "client/cpp/admin_client.h"
#include "client/cpp/error.h"
#include "client/cpp/fingerprint.h"
#include "client/cpp/message_fingerprint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/charges/charges.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

namespace client = ::onced::client;
using charges::ChargeRequest;
using charges::ChargeResponse;

const absl::Duration kLong = absl::FromChrono(kPatience);

// What a call came to.
struct Called {
  grpc::Status status;
  ChargeResponse response;
  bool replayed = false;

  client::ErrorDetails error() const { return client::DetailsOf(client::ToAbslStatus(status)); }
};

struct CallOptions {
  std::string key = "k";
  std::string account = "acme";
  std::chrono::system_clock::time_point deadline = Soon();
  bool refund = false;
};

ChargeRequest RequestOf(int cents) {
  ChargeRequest request;
  request.set_order("order-1");
  request.set_cents(cents);
  return request;
}

// As the method has it.
std::string FingerprintOf(const ChargeRequest& request) {
  return client::Fingerprint(
      {"/onced.test.charges.Charges/Charge", client::MessageFingerprint(request).value()});
}

// A client of that service.
class Caller {
 public:
  explicit Caller(const std::string& address)
      : stub_(charges::Charges::NewStub(ConnectTo(address))) {}

  Called Charge(const ChargeRequest& request, const CallOptions& options = {}) {
    grpc::ClientContext context;
    return Charge(context, request, options);
  }
  Called Charge(grpc::ClientContext& context, const ChargeRequest& request,
                const CallOptions& options = {}) {
    context.set_deadline(options.deadline);
    if (!options.key.empty()) context.AddMetadata(client::kKeyMetadata, options.key);
    if (!options.account.empty()) context.AddMetadata(kAccountMetadata, options.account);
    Called called;
    called.status = options.refund ? stub_->Refund(&context, request, &called.response)
                                   : stub_->Charge(&context, request, &called.response);
    const auto [first, end] =
        context.GetServerTrailingMetadata().equal_range(client::kReplayedMetadata);
    called.replayed = first != end && first->second == "true" && std::next(first) == end;
    return called;
  }

 private:
  const std::unique_ptr<charges::Charges::Stub> stub_;
};

// Where a handler waits until the test lets it go on.
class Gate {
 public:
  void Pass() {
    entered_.set_value();
    open_.get_future().wait();
  }
  void AwaitOneInside() { entered_.get_future().wait(); }
  void Open() { open_.set_value(); }

 private:
  std::promise<void> entered_;
  std::promise<void> open_;
};

class IdempotentMethodTest : public testing::Test {
 protected:
  IdempotentMethodTest() { Serve(); }

  // Anew, with the options as they are now.
  void Serve() {
    charges_.reset();
    charges_ =
        std::make_unique<ChargesServer>(client::Client::Connect(server_.address()), options_);
    charges_->handle = [](auto&, auto&, const auto& request, auto& response) {
      response.set_charge_id("charge of " + std::to_string(request.cents()));
      response.set_receipt(std::string("\0\xff", 2));
      return grpc::Status::OK;
    };
    caller_ = std::make_unique<Caller>(charges_->address());
  }
  Called Charge(int cents, const CallOptions& options = {}) {
    return caller_->Charge(RequestOf(cents), options);
  }
  // So that the next call needs no connection to be made first.
  void Connect() { EXPECT_FALSE(Charge(5, {.key = ""}).status.ok()); }
  std::future<Called> Start(int cents, const CallOptions& options = {}) {
    return std::async(std::launch::async,
                      [this, cents, options] { return Charge(cents, options); });
  }
  static void ExpectRefused(const Called& called, grpc::StatusCode code,
                            const std::string& reason) {
    EXPECT_EQ(called.status.error_code(), code) << called.status.error_message();
    EXPECT_EQ(called.error().domain, client::kMethodDomain);
    EXPECT_EQ(called.error().reason, reason);
  }

  ServerProcess server_{{.config = "namespaces:\n  held: {on_lapse: HOLD}\n"}};
  Api api_{server_.Connect()};
  client::MethodOptions options_{
      .name_space = kNamespace, .scope = AccountOf, .classifier = client::ByGrpcStatus};
  std::unique_ptr<ChargesServer> charges_;
  std::unique_ptr<Caller> caller_;
};

// ---- Replays ----

TEST_F(IdempotentMethodTest, RunsOnceAndReplays) {
  const Called first = Charge(5);
  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  EXPECT_FALSE(first.replayed);
  EXPECT_EQ(first.response.charge_id(), "charge of 5");
  // The same key, quoted as the HTTP header is.
  for (const char* key : {"k", "\"k\""}) {
    const Called again = Charge(5, {.key = key});
    ASSERT_TRUE(again.status.ok()) << again.status.error_message();
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.response.SerializeAsString(), first.response.SerializeAsString());
  }
  EXPECT_EQ(charges_->runs, 1);
  EXPECT_EQ(api_.Inspect("acme/k").state(), v1::STATE_COMMITTED);
}

TEST_F(IdempotentMethodTest, ReplaysAFinalFailureWithItsDetails) {
  client::ErrorDetails declined{.code = absl::StatusCode::kFailedPrecondition,
                                .message = "the card was declined",
                                .reason = "DECLINED",
                                .domain = "charges.example",
                                .metadata = {{"card", "4242"}}};
  charges_->handle = [&](auto&, auto&, const auto&, auto&) {
    return client::ToGrpcStatus(client::ToAbslStatus(declined));
  };
  const Called first = Charge(5);
  const Called second = Charge(5);
  EXPECT_EQ(first.error().reason, "DECLINED");
  EXPECT_FALSE(first.replayed);
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(second.status.error_message(), first.status.error_message());
  EXPECT_EQ(second.status.error_details(), first.status.error_details());
  EXPECT_EQ(charges_->runs, 1);
}

TEST_F(IdempotentMethodTest, ReplaysAFailureWhoseDetailsWereTooMany) {
  charges_->handle = [](auto&, auto&, const auto&, auto&) {
    return grpc::Status(grpc::NOT_FOUND, "no such order", std::string(17 << 10, 'd'));
  };
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 1 << 20);
  const auto stub = charges::Charges::NewStub(grpc::CreateCustomChannel(
      charges_->address(), grpc::InsecureChannelCredentials(), arguments));
  std::vector<grpc::Status> statuses;
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    context.set_deadline(Soon());
    context.AddMetadata(client::kKeyMetadata, "k");
    context.AddMetadata(kAccountMetadata, "acme");
    ChargeResponse response;
    statuses.push_back(stub->Charge(&context, RequestOf(5), &response));
    EXPECT_EQ(statuses.back().error_code(), grpc::NOT_FOUND) << statuses.back().error_message();
    EXPECT_EQ(statuses.back().error_message(), "no such order");
  }
  EXPECT_EQ(statuses[0].error_details().size(), std::size_t{17 << 10});
  EXPECT_EQ(statuses[1].error_details(), "");
  EXPECT_EQ(charges_->runs, 1);
}

TEST_F(IdempotentMethodTest, SaysThatItWasDoneWhereTheResponseWasTooLarge) {
  charges_->handle = [](auto&, auto&, const auto&, auto& response) {
    response.set_receipt(std::string(2 << 20, 'r'));
    return grpc::Status::OK;
  };
  EXPECT_TRUE(Charge(5).status.ok());
  const Called again = Charge(5);
  ExpectRefused(again, grpc::DATA_LOSS, "IDEMPOTENCY_RESPONSE_NOT_KEPT");
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(charges_->runs, 1);
}

TEST_F(IdempotentMethodTest, RunsAnewWhatWasTurnedAway) {
  // Whose handler has one door, and nobody behind it who says the same.
  options_.classifier = [](const auto& status, const auto& response) {
    const bool busy = status.error_code() == grpc::RESOURCE_EXHAUSTED;
    return busy ? client::Verdict::kRelease : client::ByGrpcStatus(status, response);
  };
  Serve();
  charges_->handle = [](auto&, auto&, const auto&, auto&) {
    return grpc::Status(grpc::RESOURCE_EXHAUSTED, "too busy");
  };
  for (int i = 0; i < 2; ++i) {
    const Called called = Charge(5);
    EXPECT_EQ(called.status.error_message(), "too busy");
    EXPECT_FALSE(called.replayed);
  }
  EXPECT_EQ(charges_->runs, 2);
  EXPECT_EQ(api_.Inspect("acme/k").state(), v1::STATE_ABSENT);
}

TEST_F(IdempotentMethodTest, SurvivesAHandlerThatThrows) {
  charges_->handle = [](auto&, auto&, const auto&, auto&) -> grpc::Status {
    throw std::runtime_error("x");
  };
  EXPECT_EQ(Charge(5).status.error_code(), grpc::UNKNOWN);
  ExpectRefused(Charge(5), grpc::ABORTED, "IDEMPOTENCY_IN_PROGRESS");
  EXPECT_EQ(charges_->runs, 1);
}

// ---- Refusals ----

TEST_F(IdempotentMethodTest, RefusesACallWithoutAGoodKey) {
  const Called without = Charge(5, {.key = ""});
  ExpectRefused(without, grpc::INVALID_ARGUMENT, "IDEMPOTENCY_KEY_REQUIRED");
  EXPECT_EQ(without.error().violations.at(0).field, "idempotency-key");
  ExpectRefused(Charge(5, {.key = "\"k"}), grpc::INVALID_ARGUMENT, "IDEMPOTENCY_KEY_INVALID");
  const Called long_key = Charge(5, {.key = std::string(252, 'k')});
  ExpectRefused(long_key, grpc::INVALID_ARGUMENT, "IDEMPOTENCY_KEY_INVALID");
  EXPECT_EQ(long_key.error().violations.at(0).description,
            "252 bytes; at most 251 beside the caller's scope");
  grpc::ClientContext twice;
  twice.AddMetadata(client::kKeyMetadata, "k");
  ExpectRefused(caller_->Charge(twice, RequestOf(5)), grpc::INVALID_ARGUMENT,
                "IDEMPOTENCY_KEY_INVALID");
  EXPECT_EQ(Charge(5, {.account = ""}).status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(charges_->runs, 0);
  EXPECT_TRUE(Charge(5, {.key = std::string(251, 'k')}).status.ok());
}

TEST_F(IdempotentMethodTest, RefusesWhatIsInProgress) {
  Gate gate;
  charges_->handle = [&](auto&, auto&, const auto&, auto&) {
    gate.Pass();
    return grpc::Status::OK;
  };
  auto first = Start(5);
  gate.AwaitOneInside();
  const Called second = Charge(5);
  ExpectRefused(second, grpc::ABORTED, "IDEMPOTENCY_IN_PROGRESS");
  EXPECT_GT(second.error().retry_delay.value_or(absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_FALSE(second.replayed);
  gate.Open();
  EXPECT_TRUE(first.get().status.ok());
  EXPECT_TRUE(Charge(5).replayed);
  EXPECT_EQ(charges_->runs, 1);
}

TEST_F(IdempotentMethodTest, RefusesAKeyThatWasUsedForSomethingElse) {
  options_.excluded_fields = {"meta.trace_id"};
  Serve();
  ASSERT_TRUE(Charge(5).status.ok());
  const struct {
    const char* name;
    ChargeRequest request = RequestOf(5);
    bool refund = false;
  } kOthers[] = {{"cents", RequestOf(6)}, {"method", RequestOf(5), true}};
  for (const auto& other : kOthers) {
    SCOPED_TRACE(other.name);
    const Called called = caller_->Charge(other.request, {.refund = other.refund});
    ExpectRefused(called, grpc::FAILED_PRECONDITION, "IDEMPOTENCY_KEY_REUSED");
    EXPECT_FALSE(called.replayed);
  }
  ChargeRequest traced = RequestOf(5);
  traced.mutable_meta();
  ExpectRefused(caller_->Charge(traced), grpc::FAILED_PRECONDITION, "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(charges_->runs, 1);
  // What is excluded makes no difference.
  for (const char* trace : {"t1", "t2"}) {
    traced.mutable_meta()->set_trace_id(trace);
    EXPECT_TRUE(caller_->Charge(traced, {.key = "traced"}).status.ok());
  }
  EXPECT_EQ(charges_->runs, 2);
}

TEST_F(IdempotentMethodTest, RefusesWhatNobodyKnowsUntilItIsSettled) {
  options_.name_space = "held";
  options_.lease_ttl = absl::Milliseconds(200);
  Serve();
  charges_->handle = [](auto&, auto&, const auto&, auto&) {
    return grpc::Status(grpc::INTERNAL, "who knows");
  };
  EXPECT_EQ(Charge(5).status.error_code(), grpc::INTERNAL);
  v1::InspectRequest inspect = InspectOf("acme/k");
  inspect.set_namespace_("held");
  Await("a lapse",
        [&] { return api_.Inspect(inspect).value().record().state() == v1::STATE_LAPSED; });
  ExpectRefused(Charge(5), grpc::ABORTED, "IDEMPOTENCY_UNRESOLVED");
  // An operator has found that it was done.
  ChargeResponse response;
  response.set_charge_id("found in the books");
  client::admin_v1::ResolveRequest resolve;
  resolve.set_namespace_("held");
  resolve.set_key("acme/k");
  resolve.set_fence(api_.Inspect(inspect).value().record().fence());
  resolve.mutable_commit()->mutable_result()->set_status_code(grpc::OK);
  resolve.mutable_commit()->mutable_result()->set_body(response.SerializeAsString());
  const auto resolved = client::AdminClient::Connect(server_.admin_address()).Resolve(resolve);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  const Called settled = Charge(5);
  EXPECT_TRUE(settled.status.ok()) << settled.status.error_message();
  EXPECT_TRUE(settled.replayed);
  EXPECT_EQ(settled.response.charge_id(), "found in the books");
  EXPECT_EQ(charges_->runs, 1);
}

TEST_F(IdempotentMethodTest, IsUnavailableWhereOncedIsGone) {
  std::vector<absl::Status> errors;
  options_.observer = [&](const auto& outcome) { errors.push_back(outcome.status()); };
  Serve();
  server_.Stop();
  const Called called = Charge(5);
  ExpectRefused(called, grpc::UNAVAILABLE, "IDEMPOTENCY_UNAVAILABLE");
  EXPECT_TRUE(called.error().retry_delay.has_value());
  EXPECT_EQ(charges_->runs, 0);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code(), absl::StatusCode::kUnavailable);
}

// It isn't the caller's mistake, and is none that the next call mends.
TEST_F(IdempotentMethodTest, IsInternalWhereOncedRefusesTheService) {
  options_.lease_ttl = absl::Hours(1000);
  Serve();
  ExpectRefused(Charge(5), grpc::INTERNAL, "IDEMPOTENCY_REFUSED");
  options_.lease_ttl.reset();
  options_.scope = [](const auto&) { return "a\nb"; };
  Serve();
  ExpectRefused(Charge(5), grpc::INTERNAL, "IDEMPOTENCY_REFUSED");
}

// ---- Many callers ----

TEST_F(IdempotentMethodTest, OfManyAtOnceOneRuns) {
  options_.wait_timeout = kLong;
  Serve();
  Gate gate;
  charges_->handle = [&](auto&, auto&, const auto&, auto& response) {
    gate.Pass();
    response.set_charge_id("the one");
    return grpc::Status::OK;
  };
  std::vector<std::future<Called>> callers;
  for (int i = 0; i < 4; ++i) callers.push_back(Start(5));
  gate.AwaitOneInside();
  server_.AwaitWaiters(3);
  gate.Open();
  int replayed = 0;
  for (auto& caller : callers) {
    const Called called = caller.get();
    EXPECT_TRUE(called.status.ok()) << called.status.error_message();
    EXPECT_EQ(called.response.charge_id(), "the one");
    replayed += called.replayed ? 1 : 0;
  }
  EXPECT_EQ(replayed, 3);
  EXPECT_EQ(charges_->runs, 1);
}

TEST_F(IdempotentMethodTest, KeepsScopesApart) {
  EXPECT_FALSE(Charge(5, {.key = "b/k", .account = "a"}).replayed);
  EXPECT_FALSE(Charge(6, {.key = "k", .account = "a/b"}).replayed);
  EXPECT_FALSE(Charge(7, {.key = "k", .account = "a%2Fb"}).replayed);
  EXPECT_FALSE(Charge(8, {.key = "b/k", .account = "c"}).replayed);
  EXPECT_EQ(charges_->runs, 4);
  const Called again = Charge(6, {.key = "k", .account = "a/b"});
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.response.charge_id(), "charge of 6");
}

// ---- Callers that go away ----

TEST_F(IdempotentMethodTest, CommitsThoughItsCallersDeadlineHasPassed) {
  std::atomic<int> ended = 0;
  options_.observer = [&](const auto&) { ++ended; };
  Serve();
  charges_->handle = [&](auto&, auto& context, const auto&, auto& response) {
    Await("the caller's end", [&] { return context.IsCancelled(); });
    response.set_charge_id("late");
    return grpc::Status::OK;
  };
  Connect();
  // A deadline that leaves a slow machine the time to get to the handler.
  std::string key;
  for (int seconds = 1; charges_->runs == 0; seconds *= 2) {
    key = "k" + std::to_string(seconds);
    const int before = ended;
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(seconds);
    EXPECT_EQ(Charge(5, {.key = key, .deadline = deadline}).status.error_code(),
              grpc::DEADLINE_EXCEEDED);
    Await("the end of the call", [&] { return ended > before; });
  }
  api_.AwaitState("acme/" + key, v1::STATE_COMMITTED);
  const Called again = Charge(5, {.key = key});
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.response.charge_id(), "late");
  EXPECT_EQ(charges_->runs, 1);
  charges_.reset();  // Before what its observer uses.
}

TEST_F(IdempotentMethodTest, ACancelledCallWaitsNoLonger) {
  std::promise<absl::Status> ended;
  options_.wait_timeout = kLong;
  options_.observer = [&](const auto& outcome) { ended.set_value(outcome.status()); };
  Serve();
  api_.Grant("acme/k", [&](v1::ReserveRequest& request) {
    request.set_fingerprint(FingerprintOf(RequestOf(5)));
  });
  grpc::ClientContext context;
  auto caller =
      std::async(std::launch::async, [&] { return caller_->Charge(context, RequestOf(5)); });
  server_.AwaitWaiters(1);
  context.TryCancel();
  EXPECT_EQ(caller.get().status.error_code(), grpc::CANCELLED);
  EXPECT_EQ(ended.get_future().get().code(), absl::StatusCode::kCancelled);
  server_.AwaitWaiters(0);
  EXPECT_EQ(charges_->runs, 0);
  charges_.reset();  // Before what its observer uses.
}

TEST_F(IdempotentMethodTest, WaitsNoLongerThanItsCaller) {
  std::promise<void> ended;
  options_.wait_timeout = kLong;
  options_.observer = [&](const auto&) { ended.set_value(); };
  Serve();
  api_.Grant("acme/k", [&](v1::ReserveRequest& request) {
    request.set_fingerprint(FingerprintOf(RequestOf(5)));
    *request.mutable_lease_ttl() = ToProto(absl::Hours(1));
  });
  Connect();
  const Called called =
      Charge(5, {.deadline = std::chrono::system_clock::now() + std::chrono::seconds(2)});
  // Shortly before the deadline onced ends the wait.
  EXPECT_THAT(called.status.error_code(), testing::AnyOf(grpc::ABORTED, grpc::DEADLINE_EXCEEDED));
  ended.get_future().wait();
  server_.AwaitWaiters(0);
  EXPECT_EQ(charges_->runs, 0);
  charges_.reset();  // Before what its observer uses.
}

// ---- A service that dies ----

TEST_F(IdempotentMethodTest, TellsOfATakeoverAfterTheServiceWasKilled) {
  {
    Process killed(
        {.argv = {ONCED_BIN_DIR "/onced_test_charger", server_.address(), kNamespace, "1000"}});
    const std::string start = "serves on ";
    const auto line = killed.out().AwaitLine(start);
    ASSERT_TRUE(line.has_value()) << killed.err().Text();
    Caller caller(line->substr(line->find(start) + start.size()));
    auto call = std::async(std::launch::async, [&] { return caller.Charge(RequestOf(5)); });
    ASSERT_TRUE(killed.out().AwaitLine("charging").has_value());
    killed.Signal(SIGKILL);
    killed.Wait();
    EXPECT_EQ(call.get().status.error_code(), grpc::UNAVAILABLE);
  }
  const std::int64_t fence = api_.Inspect("acme/k").fence();
  api_.AwaitState("acme/k", v1::STATE_LAPSED);
  charges_->handle = [&](auto& work, auto&, const auto&, auto& response) {
    EXPECT_TRUE(work.takeover());
    EXPECT_EQ(work.attempt(), 2);
    EXPECT_GT(work.fence(), fence);
    if (work.takeover()) {
      EXPECT_EQ(work.previous()->fence, fence);
      EXPECT_EQ(work.previous()->owner, "charges");
      EXPECT_EQ(work.previous()->checkpoint, "half way");
    }
    response.set_charge_id("taken over");
    return grpc::Status::OK;
  };
  const Called second = Charge(5);
  EXPECT_TRUE(second.status.ok()) << second.status.error_message();
  EXPECT_EQ(second.response.charge_id(), "taken over");
  EXPECT_FALSE(second.replayed);
  EXPECT_TRUE(Charge(5).replayed);
  EXPECT_EQ(charges_->runs, 1);
}

}  // namespace
}  // namespace onced::integration
