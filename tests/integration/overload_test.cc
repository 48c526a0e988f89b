// More than the server can or will take.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/server_process.h"
#include "tests/integration/session.h"

namespace onced::integration {
namespace {

using testing::_;
using testing::Contains;
using testing::Pair;

std::string Repeat(const std::string& bytes, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += bytes;
  return repeated;
}

// ---- Messages that would take long to parse ----

class Costly : public testing::Test {
 protected:
  ServerProcess server_;
  Api api_{server_.Connect()};
};

TEST_F(Costly, OfTwoMillionOperationsAreRefusedByName) {
  const std::string operations = Repeat(Field(1, ""), (4 << 20) / 2 - 8);
  const RawReply reply = RawCall(api_.channel(), MethodOfApi("Batch"), operations);
  EXPECT_EQ(reply.status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(ErrorOf(reply.status).violations, Contains(Pair("operations", _)));
}

TEST_F(Costly, ASessionTellsWhichMessageHadThem) {
  v1::SessionRequest request;
  request.set_id(7);
  const std::string message = request.SerializeAsString() + Repeat(Field(2, ""), (4 << 20) / 2 - 8);
  RawStream stream(api_.channel(), MethodOfApi("Session"), message);
  v1::SessionResponse response;
  ASSERT_TRUE(response.ParseFromString(stream.Read()));
  EXPECT_EQ(response.id(), 7u);
  EXPECT_THAT(ErrorOf(response.error()).violations, Contains(Pair("operations", _)));
}

// A commit is refused for no header; there may be as many as the message holds.
TEST_F(Costly, AMillionHeadersAreLeftOut) {
  const v1::Reservation grant = api_.Grant("key");
  v1::CommitRequest commit = CommitOf("key", grant.token(), ResultOf(200, "body"));
  std::string result = commit.result().SerializeAsString();
  commit.clear_result();
  result += Repeat(Field(2, Field(1, "n")), 600'000);
  const RawReply reply =
      RawCall(api_.channel(), MethodOfApi("Commit"), commit.SerializeAsString() + Field(4, result));
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  v1::CommitResponse response;
  ASSERT_TRUE(response.ParseFromString(reply.bytes));
  EXPECT_TRUE(response.headers_omitted());
  const v1::Result replay = api_.Reserve("key").replay().result();
  EXPECT_EQ(replay.headers_size(), 64);
  EXPECT_EQ(replay.body(), "body");
}

TEST_F(Costly, FieldsWithoutEndAreRefused) {
  const std::string unknown = Repeat(std::string{'\x78', '\x01'}, (4 << 20) / 2 - 8);
  for (const char* method : {"Reserve", "Commit", "Release", "Extend", "Inspect", "Batch"}) {
    const RawReply reply = RawCall(api_.channel(), MethodOfApi(method), unknown);
    EXPECT_EQ(reply.status.error_code(), grpc::INVALID_ARGUMENT) << method;
    EXPECT_THAT(ErrorOf(reply.status).violations, Contains(Pair("request", _))) << method;
  }
}

// ---- Quotas ----

v1::ReserveRequest ReserveIn(const std::string& name_space, const std::string& key) {
  v1::ReserveRequest request = ReserveOf(key);
  request.set_namespace_(name_space);
  return request;
}

constexpr char kQuotas[] =
    "namespaces:\n"
    "  slow: {quota: {rate: 1, burst: 3}}\n"
    "  narrow: {quota: {concurrency: 1}, wait: {max: 60s}}\n";

TEST(Quotas, OfRateRefuseReserveAndNothingElse) {
  ServerProcess server({.config = kQuotas});
  Api api(server.Connect());
  const v1::ReserveResponse granted = api.Reserve(ReserveIn("slow", "key")).value();
  // Until the burst is used up; a slow machine gets some more.
  Error error;
  for (int i = 0; error.code == 0; ++i) {
    const auto reply = api.Reserve(ReserveIn("slow", absl::StrCat("k", i)));
    if (!reply.ok()) error = reply.error();
    ASSERT_LT(i, 1'000);
  }
  EXPECT_EQ(error.code, grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.reason, "QUOTA_EXCEEDED");
  ASSERT_TRUE(error.retry_delay.has_value());
  EXPECT_GT(*error.retry_delay, absl::ZeroDuration());
  EXPECT_LE(*error.retry_delay, absl::Seconds(1));
  v1::BatchRequest batch;
  for (int i = 0; i < 20; ++i) {
    *batch.add_operations()->mutable_reserve() = ReserveIn("slow", absl::StrCat("b", i));
  }
  int refused = 0;
  const v1::BatchResponse response = api.Batch(batch).value();
  for (const v1::BatchItem& item : response.items()) {
    if (!item.has_error()) continue;
    EXPECT_EQ(ErrorOf(item.error()).reason, "QUOTA_EXCEEDED");
    ++refused;
  }
  EXPECT_GE(refused, 10) << "each counts as one";
  v1::ExtendRequest extend = ExtendOf("key", granted.reservation().token());
  extend.set_namespace_("slow");
  v1::CommitRequest commit = CommitOf("key", granted.reservation().token(), ResultOf(200, "x"));
  commit.set_namespace_("slow");
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(api.Extend(extend).ok()) << "what settles has none";
  v1::InspectRequest inspect = InspectOf("key");
  inspect.set_namespace_("slow");
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(api.Inspect(inspect).ok()) << "nor has what changes nothing";
  EXPECT_TRUE(api.Commit(commit).ok());
  EXPECT_EQ(api.Reserve("other").outcome(), v1::OUTCOME_FRESH) << "of another namespace";
  EXPECT_GE(server.GetMetrics().at(
                "idempotency_errors_total{method=\"reserve\",reason=\"QUOTA_EXCEEDED\"}"),
            10);
}

// The parked don't take up the one place that there is.
TEST(Quotas, OfConcurrencyDoNotCountWhatIsParked) {
  ServerProcess server({.config = kQuotas});
  Api api(server.Connect());
  const v1::ReserveResponse held = api.Reserve(ReserveIn("narrow", "key")).value();
  std::vector<std::thread> threads;
  std::atomic<int> replayed{0};
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      Api other(server.Connect());
      v1::ReserveRequest request = ReserveIn("narrow", "key");
      request.mutable_wait_timeout()->set_seconds(60);
      for (;;) {  // Two may meet on their way in.
        const auto reply = other.Reserve(request);
        if (!reply.ok() && reply.error().reason == "QUOTA_EXCEEDED") continue;
        replayed += reply.value().outcome() == v1::OUTCOME_REPLAYED;
        return;
      }
    });
  }
  server.AwaitWaiters(5);
  v1::CommitRequest commit = CommitOf("key", held.reservation().token(), ResultOf(200, "x"));
  commit.set_namespace_("narrow");
  EXPECT_TRUE(api.Commit(commit).ok());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(replayed, 5);
}

// ---- Memory ----

// One that takes in no more than it is asked for: gRPC's own clients read ahead, on a fast
// network by megabytes.
std::shared_ptr<grpc::Channel> ConnectWithoutReadingAhead(const ServerProcess& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 14);
  return grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments);
}

// They would have 600 MiB of answers lie in memory.
TEST(Memory, ClientsThatDoNotReadTakeNoMoreThanTheirShare) {
  constexpr int kSessions = 200;
  constexpr int kMessages = 3;
  ServerProcess server({.flags = {"--memory-budget", "64MiB"}});
  Api api(server.Connect());
  const v1::Reservation held = api.Grant("held");
  api.Commit("large", api.Grant("large").token(), ResultOf(200, std::string(1 << 20, 'x')));
  const int before = server.process().PeakMemoryMib();
  std::vector<std::unique_ptr<Api>> apis;
  std::vector<std::unique_ptr<SessionStream>> sessions;
  for (int i = 0; i < kSessions; ++i) {
    if (i % 20 == 0) apis.push_back(std::make_unique<Api>(ConnectWithoutReadingAhead(server)));
    sessions.push_back(std::make_unique<SessionStream>(*apis.back()));
    for (int id = 0; id < kMessages; ++id) {
      sessions.back()->Send(static_cast<std::uint64_t>(id), ReserveOf("large"));
    }
  }
  Await("all to be answered", [&] {
    return server.GetMetrics().at("idempotency_requests_total{method=\"session\",status=\"ok\"}") ==
           kSessions * kMessages;
  });
  // 32 MiB are for calls, of which a quarter is for what settles; twice that is what
  // one drain and gRPC's own buffers may add.
  EXPECT_LE(server.GetMetrics().at("idempotency_call_bytes"), 32 << 20);
#ifdef NDEBUG
  EXPECT_LT(server.process().PeakMemoryMib(), before + 3 * 32);
#else
  EXPECT_LT(server.process().PeakMemoryMib(), before + 6 * 32);
#endif
  // Who reads is served: what is small, whatever there is; what is large, with an error
  // that says when to ask again.
  EXPECT_EQ(api.Reserve("fresh").outcome(), v1::OUTCOME_FRESH);
  api.Commit("held", held.token(), ResultOf(200, "done"));
  // Another namespace's, too, since these have half of the room at most.
  const v1::ReserveRequest other = ReserveIn("other", "large");
  const v1::ReserveResponse granted = api.Reserve(other).value();
  v1::CommitRequest commit =
      CommitOf("large", granted.reservation().token(), ResultOf(200, std::string(1 << 20, 'x')));
  commit.set_namespace_("other");
  EXPECT_TRUE(api.Commit(commit).ok());
  EXPECT_EQ(api.Reserve(other).value().outcome(), v1::OUTCOME_REPLAYED);
  // The rest of the room is less than one answer, sooner or later.
  Error error;
  Await("a refusal", [&] {
    const auto reply = api.Reserve(ReserveOf("large"));
    if (!reply.ok()) error = reply.error();
    sessions.push_back(std::make_unique<SessionStream>(*apis.back()));
    sessions.back()->Send(0, ReserveOf("large"));
    return !reply.ok();
  });
  EXPECT_EQ(error.reason, "MEMORY_FULL");
  EXPECT_TRUE(error.retry_delay.has_value());
  int replays = 0;
  for (int i = 0; i < kSessions; ++i) {
    for (const auto& [id, response] : sessions[static_cast<std::size_t>(i)]->Read(kMessages)) {
      const v1::BatchItem& item = response.items(0);
      replays += item.has_reserve();
      if (item.has_error()) {
        EXPECT_EQ(ErrorOf(item.error()).reason, "MEMORY_FULL");
      }
    }
  }
  EXPECT_GE(replays, 5);
  EXPECT_LE(replays, 12);
  sessions.clear();
  Await("room again", [&] { return api.Reserve(ReserveOf("large")).ok(); });
}

// ---- The end ----

// Calls that go on coming are refused, and not waited for.
TEST(Overload, SteadyTrafficDoesNotDelayTheEnd) {
  ServerProcess server({.flags = {"--shutdown-grace", "1h", "--drain-window", "0s"}});
  std::atomic<bool> over{false};
  std::atomic<int> served{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      Api api(server.Connect());
      while (!over) served += api.Inspect(InspectOf(absl::StrCat("k", i))).status.ok();
    });
  }
  Await("traffic", [&] { return served > 100; });
  EXPECT_EQ(server.Stop(), 0);  // Throws after a minute.
  over = true;
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace onced::integration
