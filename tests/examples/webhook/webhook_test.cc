// The webhook gateway as it is shipped, between a provider that delivers at least once, a real
// onced, and an endpoint that fails.
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/webhook/endpoint.h"
#include "tests/integration/http.h"
#include "tests/integration/process.h"
#include "tests/integration/server_process.h"

namespace onced::examples {
namespace {

using integration::HttpReply;
using integration::Process;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kPaid[] = R"({"type":"paid","order":17})";
// So long that no test sees its end.
constexpr char kLongLease[] = "10m";
constexpr char kShortLease[] = "1s";

MATCHER_P(IsProblem, status, "") {
  *result_listener << arg.status << "\n" << arg.head << arg.body;
  return arg.status == status &&
         arg.head.find("Content-Type: application/problem+json\r\n") != std::string::npos &&
         arg.body.find("\"status\":" + std::to_string(status) + ",") != std::string::npos;
}

class WebhookTest : public testing::Test {
 protected:
  void StartGateway(const std::string& lease, const std::string& timeout = "1m") {
    gateway_ = std::make_unique<Process>(
        Process::Command{.argv = {ONCED_BIN_DIR "/example_webhook", onced_.address(), "127.0.0.1:0",
                                  endpoint_.url(), lease, timeout}});
    const std::string ready = "listening on port ";
    const std::optional<std::string> line = gateway_->out().AwaitLine(ready);
    ASSERT_TRUE(line.has_value()) << gateway_->err().Text();
    address_ = "127.0.0.1:" + line->substr(ready.size());
  }
  HttpReply Deliver(const std::string& id, const std::string& body = kPaid) const {
    return integration::HttpPost(address_, "/webhooks/stripe", body, {"webhook-id: " + id});
  }
  std::future<HttpReply> DeliverBeside(const std::string& id) const {
    return std::async(std::launch::async, [this, id] { return Deliver(id); });
  }
  // As providers do: again and again until it is taken.
  HttpReply DeliverUntilTaken(const std::string& id) const {
    HttpReply reply;
    integration::Await("the event to be taken", [&] {
      reply = Deliver(id);
      EXPECT_THAT(reply.status, AnyOf(200, 409)) << reply.body;
      return reply.status == 200;
    });
    return reply;
  }

  Endpoint endpoint_;  // Outlives the gateway.
  integration::ServerProcess onced_;
  std::unique_ptr<Process> gateway_;
  std::string address_;
};

TEST_F(WebhookTest, HandsAnEventOnOnce) {
  endpoint_.Listen();
  StartGateway(kLongLease);
  const HttpReply first = Deliver("evt_1");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.body, "done 1");
  EXPECT_THAT(first.head, HasSubstr("Content-Type: text/plain\r\n"));
  EXPECT_THAT(first.head, Not(HasSubstr("Idempotency-Replayed")));
  // Written otherwise, and the same event.
  for (const char* body : {kPaid, "{ \"order\": 17.0, \"type\": \"p\\u0061id\" }"}) {
    const HttpReply again = Deliver("evt_1", body);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.body, "done 1");
    EXPECT_THAT(again.head, HasSubstr("Idempotency-Replayed: true\r\n"));
    EXPECT_THAT(again.head, HasSubstr("Content-Type: text/plain\r\n"));
  }
  ASSERT_THAT(endpoint_.requests(), SizeIs(1));
  const Endpoint::Request request = endpoint_.requests()[0];
  EXPECT_EQ(request.body, kPaid);
  EXPECT_EQ(request.Header("Webhook-Source"), "stripe");
  EXPECT_EQ(request.Header("Webhook-Id"), "evt_1");
  EXPECT_GT(std::atoll(request.Header("Onced-Fence").c_str()), 0);
  EXPECT_EQ(request.Header("Onced-Takeover"), "");

  EXPECT_EQ(Deliver("evt_2").body, "done 2");
  EXPECT_EQ(integration::HttpPost(address_, "/webhooks/github", kPaid, {"webhook-id: evt_1"}).body,
            "done 3");
}

TEST_F(WebhookTest, KnowsAnIdInEachOfItsForms) {
  endpoint_.Listen();
  StartGateway(kLongLease);
  const struct {
    const char* name;
    const char* header;
    const char* body;
  } kRows[] = {
      {"bare", "Idempotency-Key: a-1", "done 1"},
      {"quoted", "Idempotency-Key: \"a-1\"", "done 1"},
      {"webhook_id", "Webhook-Id: a-1", "done 1"},
      {"lower_case", "webhook-id: a-1", "done 1"},
      {"with_a_space", "Idempotency-Key: \"a 1\"", "done 2"},
      {"escaped", R"(Idempotency-Key: "a\"\\")", "done 3"},
      {"other_case", "Idempotency-Key: A-1", "done 4"},
  };
  for (const auto& row : kRows) {
    const HttpReply reply =
        integration::HttpPost(address_, "/webhooks/stripe", kPaid, {row.header});
    EXPECT_EQ(reply.body, row.body) << row.name;
  }
}

TEST_F(WebhookTest, RefusesWhatItCantTellFromOthers) {
  endpoint_.Listen();
  StartGateway(kLongLease);
  const struct {
    const char* name;
    std::vector<std::string> headers;
    std::string body;
    const char* detail;
  } kRows[] = {
      {"no_id", {}, kPaid, "webhook-id or idempotency-key is missing"},
      {"empty", {"webhook-id: "}, kPaid, "1 to 200 bytes"},
      {"empty_string", {"idempotency-key: \"\""}, kPaid, "1 to 200 bytes"},
      {"too_long", {"webhook-id: " + std::string(201, 'x')}, kPaid, "1 to 200 bytes"},
      {"twice", {"webhook-id: a", "webhook-id: a"}, kPaid, "more than one id"},
      {"both", {"webhook-id: a", "idempotency-key: a"}, kPaid, "more than one id"},
      {"joined", {"idempotency-key: a, b"}, kPaid, "characters"},
      {"unquoted", {"idempotency-key: a\"b"}, kPaid, "characters"},
      {"not_ascii", {"idempotency-key: \xc3\xa4"}, kPaid, "characters"},
      {"half_quoted", {"idempotency-key: \"a"}, kPaid, "RFC 8941"},
      {"more_after_it", {"idempotency-key: \"a\";b"}, kPaid, "RFC 8941"},
      {"bad_escape", {R"(idempotency-key: "\a")"}, kPaid, "RFC 8941"},
      {"no_json", {"webhook-id: a"}, "order=17", "what isn't JSON at byte 1"},
      {"no_body", {"webhook-id: a"}, "", "no canonical JSON"},
      {"name_twice", {"webhook-id: a"}, R"({"a":1,"a":2})", "there twice"},
  };
  for (const auto& row : kRows) {
    const HttpReply reply =
        integration::HttpPost(address_, "/webhooks/stripe", row.body, row.headers);
    EXPECT_THAT(reply, IsProblem(400)) << row.name;
    EXPECT_THAT(reply.body, HasSubstr(row.detail)) << row.name;
  }
  const std::vector<std::string> id = {"webhook-id: a"};
  for (const char* path : {"/webhooks", "/webhooks/", "/webhooks/a/b", "/webhooks/a.b"}) {
    EXPECT_THAT(integration::HttpPost(address_, path, kPaid, id), IsProblem(404)) << path;
  }
  EXPECT_THAT(integration::HttpPost(address_, "/webhooks/stripe", std::string(2'000'000, ' '), id),
              IsProblem(413));
  EXPECT_THAT(integration::HttpGet(address_, "/webhooks/stripe"), IsProblem(405));
  EXPECT_THAT(endpoint_.requests(), IsEmpty());
}

TEST_F(WebhookTest, RefusesAnotherBodyUnderAnId) {
  endpoint_.Listen();
  StartGateway(kLongLease);
  EXPECT_EQ(Deliver("evt_1").status, 200);
  EXPECT_THAT(Deliver("evt_1", R"({"type":"paid","order":18})"), IsProblem(422));
  EXPECT_EQ(Deliver("evt_1").status, 200);
  EXPECT_THAT(endpoint_.requests(), SizeIs(1));
}

TEST_F(WebhookTest, HandsOnOneOfTwoAtOnce) {
  endpoint_.Listen();
  endpoint_.Set(Endpoint::Behaviour::kHang);
  StartGateway(kLongLease);
  std::future<HttpReply> first = DeliverBeside("evt_1");
  endpoint_.AwaitRequests(1);
  for (int i = 0; i < 3; ++i) {
    const HttpReply second = Deliver("evt_1");
    EXPECT_THAT(second, IsProblem(409));
    EXPECT_THAT(second.head, HasSubstr("\r\nRetry-After: 1\r\n"));
  }
  EXPECT_THAT(Deliver("evt_1", "{}"), IsProblem(422));
  endpoint_.Set(Endpoint::Behaviour::kAnswer);
  EXPECT_EQ(first.get().body, "done 1");
  EXPECT_EQ(Deliver("evt_1").body, "done 1");
  EXPECT_THAT(endpoint_.requests(), SizeIs(1));
}

// All at the same moment: whoever comes first, the endpoint hears of it once.
TEST_F(WebhookTest, HandsOnOneOfMany) {
  endpoint_.Listen();
  StartGateway(kLongLease);
  std::vector<std::future<HttpReply>> deliveries;
  for (int i = 0; i < 16; ++i) deliveries.push_back(DeliverBeside("evt_1"));
  for (std::future<HttpReply>& delivery : deliveries) {
    EXPECT_THAT(delivery.get().status, AnyOf(200, 409));
  }
  EXPECT_EQ(Deliver("evt_1").body, "done 1");
  EXPECT_THAT(endpoint_.requests(), SizeIs(1));
}

TEST_F(WebhookTest, KeepsARefusal) {
  endpoint_.Listen();
  endpoint_.Set(Endpoint::Behaviour::kAnswer, 404);
  StartGateway(kLongLease);
  EXPECT_EQ(Deliver("evt_1").status, 404);
  endpoint_.Set(Endpoint::Behaviour::kAnswer, 200);
  const HttpReply again = Deliver("evt_1");
  EXPECT_EQ(again.status, 404);
  EXPECT_THAT(again.head, HasSubstr("Idempotency-Replayed: true\r\n"));
  EXPECT_THAT(endpoint_.requests(), SizeIs(1));
}

// The next delivery needn't wait for the lease, which is long.
TEST_F(WebhookTest, TriesAgainAtOnceWhatWasTurnedAwayAtTheDoor) {
  StartGateway(kLongLease);
  const HttpReply unreached = Deliver("evt_1");
  EXPECT_THAT(unreached, IsProblem(503));
  EXPECT_THAT(unreached.head, HasSubstr("\r\nRetry-After: 1\r\n"));
  endpoint_.Listen();
  endpoint_.Set(Endpoint::Behaviour::kAnswer, 429);
  EXPECT_THAT(Deliver("evt_1"), IsProblem(503));
  endpoint_.Set(Endpoint::Behaviour::kAnswer);
  EXPECT_EQ(Deliver("evt_1").body, "done 2");
  ASSERT_THAT(endpoint_.requests(), SizeIs(2));
  EXPECT_EQ(endpoint_.requests()[1].Header("Onced-Takeover"), "");
}

// What the endpoint did before it failed is unknown: the lease has to lapse, and the
// next hand-over says that it may not be the first.
struct Failure {
  const char* name;
  Endpoint::Behaviour behaviour;
  int status;
  const char* timeout;
};
void PrintTo(const Failure& failure, std::ostream* out) { *out << failure.name; }

class TakeoverTest : public WebhookTest, public testing::WithParamInterface<Failure> {};

void ExpectTakeover(const Endpoint& endpoint) {
  const std::vector<Endpoint::Request> requests = endpoint.requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[1].body, kPaid);
  const std::string fence = requests[0].Header("Onced-Fence");
  EXPECT_EQ(requests[0].Header("Onced-Takeover"), "");
  EXPECT_EQ(requests[1].Header("Onced-Takeover"), fence);
  EXPECT_GT(std::atoll(requests[1].Header("Onced-Fence").c_str()), std::atoll(fence.c_str()));
}

TEST_P(TakeoverTest, FollowsOnceTheLeaseHasLapsed) {
  endpoint_.Listen();
  endpoint_.Set(GetParam().behaviour, GetParam().status);
  StartGateway(kShortLease, GetParam().timeout);
  const HttpReply unknown = Deliver("evt_1");
  EXPECT_THAT(unknown, IsProblem(502));
  EXPECT_THAT(unknown.head, HasSubstr("\r\nRetry-After: 1\r\n"));
  endpoint_.Set(Endpoint::Behaviour::kAnswer);
  EXPECT_EQ(DeliverUntilTaken("evt_1").body, "done 2");
  ExpectTakeover(endpoint_);
}

INSTANTIATE_TEST_SUITE_P(Failures, TakeoverTest,
                         testing::Values(Failure{"status_500", Endpoint::Behaviour::kAnswer, 500,
                                                 "1m"},
                                         Failure{"drops", Endpoint::Behaviour::kDrop, 0, "1m"},
                                         Failure{"hangs", Endpoint::Behaviour::kHang, 0, "500ms"}),
                         [](const auto& row) { return std::string(row.param.name); });

// Also if the one that took over did nothing: of the first nobody knows still.
TEST_F(WebhookTest, MarksTakeoversUntilOneSucceeds) {
  endpoint_.Listen();
  endpoint_.Set(Endpoint::Behaviour::kAnswer, 500);
  StartGateway(kShortLease);
  EXPECT_THAT(Deliver("evt_1"), IsProblem(502));
  endpoint_.Set(Endpoint::Behaviour::kAnswer, 429);
  integration::Await("the event to be turned away", [&] { return Deliver("evt_1").status == 503; });
  endpoint_.Set(Endpoint::Behaviour::kAnswer);
  EXPECT_EQ(DeliverUntilTaken("evt_1").body, "done 3");
  const std::vector<Endpoint::Request> requests = endpoint_.requests();
  ASSERT_THAT(requests, SizeIs(3));
  EXPECT_EQ(requests[1].Header("Onced-Takeover"), requests[0].Header("Onced-Fence"));
  EXPECT_EQ(requests[2].Header("Onced-Takeover"), requests[1].Header("Onced-Fence"));
}

TEST_F(WebhookTest, GoesOnByAnotherAfterACrash) {
  endpoint_.Listen();
  endpoint_.Set(Endpoint::Behaviour::kHang);
  StartGateway(kShortLease);
  std::future<HttpReply> cut = DeliverBeside("evt_1");
  endpoint_.AwaitRequests(1);
  gateway_->Signal(SIGKILL);
  EXPECT_EQ(gateway_->Wait(), 128 + SIGKILL);
  EXPECT_EQ(cut.get().status, 0);
  endpoint_.Set(Endpoint::Behaviour::kAnswer);

  StartGateway(kShortLease);
  EXPECT_EQ(DeliverUntilTaken("evt_1").body, "done 2");
  ExpectTakeover(endpoint_);
  EXPECT_THAT(Deliver("evt_1").head, HasSubstr("Idempotency-Replayed: true\r\n"));
}

TEST_F(WebhookTest, WaitsForTheLeaseOfOneThatCrashed) {
  endpoint_.Listen();
  endpoint_.Set(Endpoint::Behaviour::kHang);
  StartGateway(kLongLease);
  std::future<HttpReply> cut = DeliverBeside("evt_1");
  endpoint_.AwaitRequests(1);
  gateway_->Signal(SIGKILL);
  gateway_->Wait();
  cut.get();
  StartGateway(kLongLease);
  EXPECT_THAT(Deliver("evt_1"), IsProblem(409));
  EXPECT_THAT(endpoint_.requests(), SizeIs(1));
}

// A hand-over that outlasts the lease keeps it.
TEST_F(WebhookTest, KeepsTheLeaseOfASlowEndpoint) {
  endpoint_.Listen();
  endpoint_.Set(Endpoint::Behaviour::kHang);
  StartGateway("3s");
  std::future<HttpReply> first = DeliverBeside("evt_1");
  endpoint_.AwaitRequests(1);
  integration::Await("the lease to be extended", [&] {
    return onced_.GetMetrics()["idempotency_requests_total{method=\"extend\",status=\"ok\"}"] >= 4;
  });
  EXPECT_THAT(Deliver("evt_1"), IsProblem(409));
  endpoint_.Set(Endpoint::Behaviour::kAnswer);
  EXPECT_EQ(first.get().body, "done 1");
  EXPECT_THAT(endpoint_.requests(), SizeIs(1));
}

TEST_F(WebhookTest, HandsNothingOnWithoutOnced) {
  endpoint_.Listen();
  StartGateway(kLongLease);
  EXPECT_EQ(Deliver("evt_1").status, 200);
  onced_.Stop();
  for (const char* id : {"evt_1", "evt_2"}) {
    const HttpReply reply = Deliver(id);
    EXPECT_THAT(reply, IsProblem(503));
    EXPECT_THAT(reply.head, HasSubstr("\r\nRetry-After: "));
  }
  EXPECT_THAT(endpoint_.requests(), SizeIs(1));
}

TEST_F(WebhookTest, EndsAfterWhatHasBegun) {
  endpoint_.Listen();
  endpoint_.Set(Endpoint::Behaviour::kHang);
  StartGateway(kLongLease);
  std::future<HttpReply> first = DeliverBeside("evt_1");
  endpoint_.AwaitRequests(1);
  gateway_->Signal(SIGTERM);
  // One without an id, which is told what is wrong with it until nothing is begun any more.
  integration::Await("new ones to be sent away", [&] {
    return integration::HttpPost(address_, "/webhooks/stripe", kPaid).status == 503;
  });
  endpoint_.Set(Endpoint::Behaviour::kAnswer);
  EXPECT_EQ(gateway_->Wait(), EXIT_SUCCESS);
  EXPECT_EQ(first.get().body, "done 1");
}

TEST(Webhook, SaysHowItIsUsed) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"a", "b"}, {"a", "b", "c", "soon"}}) {
    Process::Command command{.argv = {ONCED_BIN_DIR "/example_webhook"}};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    const integration::Finished finished = integration::Run(command);
    EXPECT_EQ(finished.exit_code, EXIT_FAILURE);
    EXPECT_THAT(finished.err, HasSubstr("usage: webhook SERVER"));
  }
}

}  // namespace
}  // namespace onced::examples
