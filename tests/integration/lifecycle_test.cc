// Serving, draining, ending.
#include <signal.h>

#include <future>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/async_reserve.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/server_process.h"
#include "tests/integration/session.h"

namespace onced::integration {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kHealthWatch[] = "/grpc.health.v1.Health/Watch";
const std::string kReflections[] = {
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
};
constexpr char kService[] = "idempotency.v1.IdempotencyService";
constexpr char kAdminService[] = "idempotency.admin.v1.AdminService";
// HealthCheckResponse with status SERVING, NOT_SERVING and SERVICE_UNKNOWN.
const std::string kServing("\x08\x01");
const std::string kNotServing("\x08\x02");
const std::string kServiceUnknown("\x08\x03");

v1::ReserveRequest Waits(const std::string& key) {
  v1::ReserveRequest request = ReserveOf(key);
  WithWait(absl::Seconds(60))(request);
  return request;
}

// ---- Serving ----

// Both ports have it.
TEST(Serving, HealthIsServingForTheServerAndItsService) {
  const ServerProcess server;
  const struct {
    std::shared_ptr<grpc::Channel> channel;
    std::string service;
  } ports[] = {{server.Connect(), kService}, {server.ConnectToAdmin(), kAdminService}};
  for (const auto& port : ports) {
    for (const std::string& name : {std::string(), port.service}) {
      const RawReply reply = RawCall(port.channel, kHealthCheck, Field(1, name));
      EXPECT_TRUE(reply.status.ok()) << name << ": " << reply.status.error_message();
      EXPECT_EQ(reply.bytes, kServing) << name;
      EXPECT_EQ(RawStream(port.channel, kHealthWatch, Field(1, name)).Read(), kServing) << name;
    }
    EXPECT_EQ(RawCall(port.channel, kHealthCheck, Field(1, "nobody")).status.error_code(),
              grpc::NOT_FOUND);
    EXPECT_EQ(RawCall(port.channel, kHealthCheck, Field(1, "\xff")).status.error_code(),
              grpc::INVALID_ARGUMENT);
    EXPECT_EQ(RawStream(port.channel, kHealthWatch, Field(1, "nobody")).Read(), kServiceUnknown);
  }
}

TEST(Serving, ReflectionTellsOfTheServices) {
  const ServerProcess server;
  const struct {
    std::shared_ptr<grpc::Channel> channel;
    std::string service;
    std::string other;
  } ports[] = {{server.Connect(), kService, kAdminService},
               {server.ConnectToAdmin(), kAdminService, kService}};
  for (const std::string& reflection : kReflections) {
    for (const auto& port : ports) {
      RawStream services(port.channel, reflection, Field(7, ""));  // list_services
      const std::string listed = services.Read();
      EXPECT_THAT(listed, HasSubstr(port.service));
      EXPECT_THAT(listed, HasSubstr("grpc.health.v1.Health"));
      EXPECT_THAT(listed, Not(HasSubstr(port.other)));
      // file_containing_symbol: enough for a client without the files.
      for (const std::string& symbol :
           {port.service, std::string("idempotency.v1.ReserveRequest"),
            std::string("google.rpc.Status"), std::string("google.rpc.ErrorInfo"),
            std::string("grpc.health.v1.Health"),
            std::string("grpc.reflection.v1.ServerReflection"),
            std::string("grpc.reflection.v1alpha.ServerReflection")}) {
        RawStream file(port.channel, reflection, Field(4, symbol));
        EXPECT_THAT(file.Read(), HasSubstr(".proto\x12")) << symbol;
      }
    }
  }
}

// All threads of a process that wait for gRPC contend with each other: those that
// gRPC starts by itself, for callbacks and for services that block, would cost every
// call. Has calls of all kinds first, since some come into being late.
TEST(Serving, NoThreadOfGrpcsOwnWaitsForCalls) {
  const ServerProcess server;
  Api api(server.Connect());
  api.Grant("k");
  RawStream watch(server.Connect(), kHealthWatch, Field(1, ""));
  EXPECT_EQ(watch.Read(), kServing);
  RawStream reflection(server.ConnectToAdmin(), kReflections[0], Field(7, ""));
  reflection.Read();
  const std::vector<std::string> names = server.process().ThreadNames();
  EXPECT_THAT(names, Contains("calls"));
  EXPECT_THAT(names, Not(Contains(StartsWith("nexting_thread")))) << "callbacks";
  EXPECT_THAT(names, Not(Contains(StartsWith("grpcpp_sync")))) << "services that block";
}

TEST(Serving, ProbesAreOk) {
  ServerProcess server;
  for (const char* path : {"/livez", "/readyz"}) {
    EXPECT_EQ(server.Get(path).status, 200) << path;
    EXPECT_THAT(server.Get(path).body, HasSubstr("ok")) << path;
  }
  EXPECT_EQ(server.Get("/metrics").status, 200);
  EXPECT_EQ(server.Get("/").status, 404);
}

// ---- Ending ----

class Ending : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, Ending, testing::Values(SIGTERM, SIGINT), [](const auto& param) {
  return param.param == SIGTERM ? "SIGTERM" : "SIGINT";
});

TEST_P(Ending, AnIdleServerEndsAtOnce) {
  ServerProcess server;
  server.process().Signal(GetParam());
  EXPECT_EQ(server.process().Wait(std::chrono::seconds(20)), 0);
  EXPECT_FALSE(server.Connect()->WaitForConnected(std::chrono::system_clock::now()));
}

TEST_P(Ending, ParkedCallersAreToldAndTheServerEndsInTime) {
  constexpr int kParked = 50;
  ServerProcess server;
  Api api(server.Connect());
  const v1::Reservation grant = api.Grant("k");
  AsyncReserves parked;
  for (int i = 0; i < kParked; ++i) {
    parked.push_back(std::make_unique<AsyncReserve>(api, Waits("k")));
  }
  server.AwaitWaiters(kParked);
  server.process().Signal(GetParam());
  for (const auto& waiter : parked) {
    const Error error = waiter->Get().error();
    EXPECT_EQ(error.code, grpc::UNAVAILABLE);
    EXPECT_EQ(error.reason, "DRAINING");
    EXPECT_EQ(error.domain, "onced");
    ASSERT_NE(error.retry_delay, std::nullopt);
    EXPECT_GT(*error.retry_delay, absl::ZeroDuration());
  }
  EXPECT_EQ(server.process().Wait(std::chrono::seconds(20)), 0);

  server.Start();
  EXPECT_EQ(Api(server.Connect()).Inspect("k").fence(), grant.fence());
}

// Whatever is open, on either port.
TEST_P(Ending, OpenCallsOfAllKindsDoNotHoldItUp) {
  ServerProcess server;
  Api api(server.Connect());
  api.Grant("k");
  AsyncReserve parked(api, Waits("k"));
  SessionStream session(api);
  ASSERT_TRUE(session.Send(1, Waits("k")));
  server.AwaitWaiters(2);
  std::vector<std::unique_ptr<RawStream>> streams;
  for (const auto& channel : {server.Connect(), server.ConnectToAdmin()}) {
    streams.push_back(std::make_unique<RawStream>(channel, kHealthWatch, Field(1, "")));
    streams.push_back(std::make_unique<RawStream>(channel, kHealthWatch, Field(1, "nobody")));
    for (const std::string& reflection : kReflections) {
      streams.push_back(std::make_unique<RawStream>(channel, reflection, Field(7, "")));
    }
  }
  for (const auto& stream : streams) stream->Read();
  server.process().Signal(GetParam());
  EXPECT_EQ(server.process().Wait(std::chrono::seconds(20)), 0);
  EXPECT_EQ(parked.Get().error().reason, "DRAINING");
}

// The drain window is open until a second signal.
class Draining : public testing::Test {
 protected:
  // Returns once the server says that it drains.
  void Drain() {
    ASSERT_EQ(watch_->Read(), kServing);
    server_.process().Signal(SIGTERM);
    ASSERT_EQ(watch_->Read(), kNotServing);
  }

  void EndWindow() { server_.process().Signal(SIGTERM); }

  ServerProcess server_{{.flags = {"--drain-window", "1h"}}};
  std::unique_ptr<RawStream> watch_ =
      std::make_unique<RawStream>(server_.Connect(), kHealthWatch, Field(1, kService));
};

TEST_F(Draining, ProbesSaySo) {
  Drain();
  EXPECT_EQ(server_.Get("/readyz").status, 503);
  EXPECT_EQ(server_.Get("/livez").status, 200) << "it is not to be restarted";
  EXPECT_EQ(server_.Get("/metrics").status, 200);
  EndWindow();
  EXPECT_EQ(server_.process().Wait(), 0);
}

TEST_F(Draining, NothingIsGrantedAnyMore) {
  Api api(server_.Connect());
  const v1::Reservation grant = api.Grant("k");
  AsyncReserve parked(api, Waits("k"));
  server_.AwaitWaiters(1);
  Drain();
  EXPECT_EQ(parked.Get().error().reason, "DRAINING");
  const Error refused = api.Reserve(ReserveOf("another")).error();
  EXPECT_EQ(refused.code, grpc::UNAVAILABLE);
  EXPECT_EQ(refused.reason, "DRAINING");
  EndWindow();
  EXPECT_EQ(server_.process().Wait(), 0);

  server_.Start();
  Api later(server_.Connect());
  EXPECT_EQ(later.Inspect("another").state(), v1::STATE_ABSENT);
  EXPECT_EQ(later.Inspect("k").fence(), grant.fence());
}

TEST_F(Draining, WhoHoldsAKeyCanSettleIt) {
  Api api(server_.Connect());
  const v1::Reservation a = api.Grant("a");
  const v1::Reservation b = api.Grant("b");
  const v1::Reservation c = api.Grant("c");
  Drain();
  EXPECT_FALSE(api.Commit("a", a.token(), ResultOf(200, "done")).late());
  EXPECT_TRUE(api.Release("b", b.token()));
  api.Extend("c", c.token(), absl::Minutes(3));
  EXPECT_EQ(api.Inspect("a").state(), v1::STATE_COMMITTED);
  EndWindow();
  EXPECT_EQ(server_.process().Wait(), 0);
}

TEST(DrainingWithoutPatience, TheGraceIsABound) {
  ServerProcess server({.flags = {"--shutdown-grace", "100ms"}});
  RawStream watch(server.Connect(), kHealthWatch, Field(1, ""));
  ASSERT_EQ(watch.Read(), kServing);
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(std::chrono::seconds(20)), 0);
}

// ---- Callers who hang up ----

grpc::Status CommitAndHangUp(Api& api, const v1::CommitRequest& request, absl::Duration patience) {
  grpc::ClientContext context;
  v1::CommitResponse response;
  std::promise<grpc::Status> done;
  api.stub().async()->Commit(&context, &request, &response,
                             [&](grpc::Status status) { done.set_value(std::move(status)); });
  std::future<grpc::Status> answered = done.get_future();
  answered.wait_for(absl::ToChronoNanoseconds(patience));
  context.TryCancel();
  return answered.get();
}

// Whether a call was received before its cancellation is the network's to say:
// one that was is executed, and one that wasn't has left no trace.
TEST(HangingUp, ACommitThatWasReceivedIsExecuted) {
  ServerProcess server;
  Api api(server.Connect());
  int executed = 0;
  for (int i = 0; i < 1'000 && executed < 5; ++i) {
    const std::string key = "k" + std::to_string(i);
    const v1::Reservation grant = api.Grant(key);
    // Hangs up at all points of the time that a commit takes.
    const absl::Duration patience = absl::Microseconds(20) * (i % 50);
    const grpc::Status status =
        CommitAndHangUp(api, CommitOf(key, grant.token(), AwkwardResult()), patience);
    const v1::Record record = api.Inspect(key, true);
    if (record.state() == v1::STATE_COMMITTED) {
      EXPECT_EQ(record.result().body(), AwkwardResult().body());
      executed += status.error_code() == grpc::CANCELLED;
    } else {
      EXPECT_EQ(record.state(), v1::STATE_PENDING);
      EXPECT_EQ(record.fence(), grant.fence());
    }
    EXPECT_FALSE(api.Commit(key, grant.token(), AwkwardResult()).late());
  }
  EXPECT_GT(executed, 0) << "no call was cancelled between its receipt and its answer";
}

}  // namespace
}  // namespace onced::integration
