// The client library against the real server.
#include "client/cpp/run_once.h"

#include <condition_variable>
#include <future>
#include <mutex>

#include "client/cpp/admin_client.h"
#include "client/cpp/error.h"
#include "client/cpp/fingerprint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/proxy.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

namespace client = ::onced::client;
using client::Key;
using client::Result;
using client::RunOnce;
using client::RunOutcome;
using client::WorkContext;

// Far more than any call takes, as kPatience.
const absl::Duration kLong = absl::FromChrono(kPatience);

class RunOnceTest : public testing::Test {
 protected:
  RunOnceTest() { options_.classifier = client::CommitResults; }

  static client::Client Connect(const std::string& address, absl::Duration timeout = kLong) {
    // Retries without end, soon after each other: what ends them is the deadline.
    return client::Client::Connect(address, {.timeout = timeout,
                                             .retry = {.attempts_max = 1'000'000,
                                                       .backoff_first = absl::Milliseconds(10),
                                                       .backoff_max = absl::Milliseconds(100)}});
  }
  static Key KeyOf(const std::string& name) { return {kNamespace, name}; }

  absl::StatusOr<RunOutcome> Run(const std::string& name, const client::Work& work) {
    return RunOnce(client_, KeyOf(name), "fp", options_, [&](WorkContext& context) {
      ++runs_;
      return work(context);
    });
  }
  absl::StatusOr<RunOutcome> Run(const std::string& name) {
    return Run(name, [](WorkContext&) { return Result{.status_code = 201, .body = "done"}; });
  }
  template <typename T>
  static T Is(absl::StatusOr<RunOutcome> outcome) {
    if (!outcome.ok() || !std::holds_alternative<T>(*outcome)) {
      ADD_FAILURE() << "another outcome: "
                    << (outcome.ok() ? std::to_string(outcome->index())
                                     : outcome.status().ToString());
      return {};
    }
    return std::get<T>(*std::move(outcome));
  }

  ServerProcess server_;
  Api api_{server_.Connect()};
  client::Client client_ = Connect(server_.address());
  client::RunOptions options_;
  std::atomic<int> runs_ = 0;
};

TEST_F(RunOnceTest, RunsOnceAndReplays) {
  const auto done = Is<client::Done>(Run("k"));
  EXPECT_EQ(done.executed.attempt, 1);
  EXPECT_EQ(done.executed.fence, api_.Inspect("k").fence());
  const auto replayed = Is<client::Replayed>(Run("k"));
  EXPECT_EQ(replayed.result.status_code, 201);
  EXPECT_EQ(replayed.result.body, "done");
  EXPECT_EQ(replayed.fence, done.executed.fence);
  EXPECT_EQ(replayed.commit_time, done.committed.commit_time);
  Is<client::Mismatch>(RunOnce(client_, KeyOf("k"), "other", options_, [&](WorkContext&) {
    ++runs_;
    return Result{};
  }));
  EXPECT_EQ(runs_, 1);
}

TEST_F(RunOnceTest, AReleasedKeyIsRunAnew) {
  options_.classifier = [](const auto&) { return client::Verdict::kRelease; };
  EXPECT_TRUE(Is<client::NothingDone>(Run("k")).released.ok());
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_ABSENT);
  Is<client::NothingDone>(Run("k"));
  EXPECT_EQ(runs_, 2);
}

TEST_F(RunOnceTest, AnUndecidedKeyIsLeftAlone) {
  options_.classifier = [](const auto&) { return client::Verdict::kUnknown; };
  Is<client::Undecided>(Run("k"));
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_PENDING);
  Is<client::Conflict>(Run("k"));
  EXPECT_EQ(runs_, 1);
}

TEST_F(RunOnceTest, KeepsWhatNoServerTakes) {
  const std::string body((5 << 20), 'x');
  const std::vector<client::Header> headers(2000, {"name", std::string(10'000, 'v')});
  Is<client::Done>(Run("k", [&](WorkContext&) {
    return Result{.status_code = 200, .headers = headers, .body = body};
  }));
  const Result result = Is<client::Replayed>(Run("k")).result;
  EXPECT_EQ(result.status_code, 200);
  EXPECT_TRUE(result.body_omitted);
  EXPECT_EQ(result.body_size, static_cast<std::int64_t>(body.size()));
  EXPECT_TRUE(result.headers_omitted);
  EXPECT_EQ(result.headers.size(), 1u);
}

TEST_F(RunOnceTest, OfManyAtOnceOneRuns) {
  options_.wait_timeout = kLong;
  std::vector<std::future<absl::StatusOr<RunOutcome>>> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(std::async(std::launch::async, [this] { return Run("k"); }));
  }
  int done = 0;
  for (auto& caller : callers) {
    const auto outcome = caller.get();
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    done += std::holds_alternative<client::Done>(*outcome) ? 1 : 0;
    EXPECT_EQ(client::ResultOf(*outcome)->body, "done");
  }
  EXPECT_EQ(done, 1);
  EXPECT_EQ(runs_, 1);
}

// ---- A network that loses answers ----

TEST_F(RunOnceTest, ALostGrantIsGotAgainByItsRequestId) {
  Proxy proxy(server_.address());
  client_ = Connect(proxy.address());
  ASSERT_TRUE(client_.Inspect(KeyOf("k")).ok());  // Connected.
  proxy.SwallowAnswers();
  auto caller = std::async(std::launch::async, [this] { return Run("k"); });
  api_.AwaitState("k", v1::STATE_PENDING);
  const std::int64_t fence = api_.Inspect("k").fence();
  proxy.Cut();
  const auto done = Is<client::Done>(caller.get());
  EXPECT_EQ(done.executed.fence, fence);
  EXPECT_EQ(done.executed.attempt, 1);
  EXPECT_GE(client_.stats().retries, 1);
  EXPECT_EQ(runs_, 1);
}

TEST_F(RunOnceTest, ALostAnswerToACommitIsAskedForAgain) {
  Proxy proxy(server_.address());
  client_ = Connect(proxy.address());
  auto caller = std::async(std::launch::async, [&] {
    return Run("k", [&](WorkContext&) {
      proxy.SwallowAnswers();
      return Result{.body = "done"};
    });
  });
  api_.AwaitState("k", v1::STATE_COMMITTED);
  proxy.Cut();
  const auto done = Is<client::Done>(caller.get());
  EXPECT_TRUE(done.committed.already_committed);
  EXPECT_EQ(runs_, 1);
}

TEST_F(RunOnceTest, WithoutAnAnswerTheWorkIsNotDone) {
  Proxy proxy(server_.address());
  client_ = Connect(proxy.address(), absl::Milliseconds(300));
  proxy.SwallowAnswers();
  EXPECT_EQ(Run("k").status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(runs_, 0);
}

// ---- A server that isn't there ----

TEST_F(RunOnceTest, FailsClosedWithoutAServer) {
  server_.Kill9();
  client_ = Connect(server_.address(), absl::Milliseconds(300));
  EXPECT_EQ(Run("k").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(runs_, 0);
  int reported = 0;
  options_.fail_open = client::FailOpen{[&](const auto&, const auto&) { ++reported; }};
  EXPECT_EQ(Is<client::Unprotected>(Run("k")).outcome->body, "done");
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(client_.stats().unprotected_runs, 1);
}

TEST_F(RunOnceTest, AServerKilledWhileTheWorkRunsStillHearsOfIt) {
  Proxy proxy(server_.address());
  client_ = Connect(proxy.address());
  options_.settle_timeout = kLong;
  std::promise<std::int64_t> granted;
  std::promise<void> killed;
  auto caller = std::async(std::launch::async, [&] {
    return Run("k", [&](WorkContext& context) {
      granted.set_value(context.fence());
      killed.get_future().wait();
      return Result{.body = "done"};
    });
  });
  const std::int64_t fence = granted.get_future().get();
  const std::int64_t before = client_.stats().retries;
  server_.Kill9();
  killed.set_value();
  Await("a commit that is sent again", [&] { return client_.stats().retries > before; });
  server_.Start();
  proxy.SetTarget(server_.address());
  const auto done = Is<client::Done>(caller.get());
  EXPECT_EQ(done.executed.fence, fence);
  Api after(server_.Connect());
  const v1::Record record = after.Inspect("k", /*include_result=*/true);
  EXPECT_EQ(record.state(), v1::STATE_COMMITTED);
  EXPECT_EQ(record.fence(), fence);
  EXPECT_EQ(record.result().body(), "done");
  EXPECT_EQ(runs_, 1);
}

// ---- A caller that goes away ----

TEST_F(RunOnceTest, ACancelledCallerStillCommits) {
  std::stop_source stop;
  options_.call.stop = stop.get_token();
  Is<client::Done>(Run("k", [&](WorkContext&) {
    stop.request_stop();
    return Result{.body = "done"};
  }));
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_COMMITTED);
  options_.call = {.deadline = absl::Now() + absl::Seconds(5)};
  Is<client::Done>(Run("k2", [&](WorkContext&) {
    Await("the deadline", [&] { return absl::Now() > options_.call.deadline; });
    return Result{.body = "done"};
  }));
  EXPECT_EQ(api_.Inspect("k2").state(), v1::STATE_COMMITTED);
}

TEST_F(RunOnceTest, ACancelledWaitEndsAtOnce) {
  api_.Grant("k", WithFingerprint("fp"));
  std::stop_source stop;
  options_.call.stop = stop.get_token();
  options_.wait_timeout = kLong;
  auto caller = std::async(std::launch::async, [this] { return Run("k"); });
  server_.AwaitWaiters(1);
  stop.request_stop();
  EXPECT_EQ(caller.get().status().code(), absl::StatusCode::kCancelled);
  server_.AwaitWaiters(0);
  EXPECT_EQ(runs_, 0);
}

// ---- Leases ----

TEST_F(RunOnceTest, WorkLongerThanTheLeaseKeepsTheKey) {
  options_.lease_ttl = absl::Seconds(3);
  client::RunOptions waiting = options_;
  waiting.wait_timeout = kLong;
  std::future<absl::StatusOr<RunOutcome>> other;
  const auto done = Is<client::Done>(Run("k", [&](WorkContext&) {
    other = std::async(std::launch::async, [&] {
      return RunOnce(client_, KeyOf("k"), "fp", waiting, [&](WorkContext&) {
        ++runs_;
        return Result{};
      });
    });
    server_.AwaitWaiters(1);
    const absl::Time first_end = ToTime(api_.Inspect("k").lease_expire_time());
    Await("a time beyond the first lease", [&] {
      v1::InspectRequest request = InspectOf("k");
      return ToTime(api_.Inspect(request).value().server_time()) > first_end + absl::Seconds(1);
    });
    return Result{.body = "done"};
  }));
  EXPECT_EQ(done.executed.attempt, 1);
  EXPECT_FALSE(done.committed.late);
  EXPECT_EQ(Is<client::Replayed>(other.get()).result.body, "done");
  EXPECT_EQ(runs_, 1);
}

// Somebody reserved the key, may have had the effect, and is gone. However many runs come to
// nothing after it, the next one is told.
TEST_F(RunOnceTest, ATakeoverThatCameToNothingIsFollowedByAnother) {
  api_.Grant("k", [](v1::ReserveRequest& request) {
    request.set_fingerprint("fp");
    WithLease(absl::Milliseconds(100))(request);
  });
  options_.lease_ttl = absl::Milliseconds(100);
  for (int i = 0; i < 3; ++i) {
    api_.AwaitState("k", v1::STATE_LAPSED);
    options_.classifier = [](const auto&) { return client::Verdict::kRelease; };
    const auto nothing = Is<client::NothingDone>(Run("k"));
    EXPECT_TRUE(nothing.executed.takeover) << i;
    EXPECT_EQ(nothing.released.code(), absl::StatusCode::kFailedPrecondition);
  }
  api_.AwaitState("k", v1::STATE_LAPSED);
  options_.classifier = client::CommitResults;
  EXPECT_TRUE(Is<client::Done>(Run("k")).executed.takeover);
}

TEST_F(RunOnceTest, ATakeoverKnowsWhomItTookOverFrom) {
  auto reserved = client_.Reserve(
      KeyOf("k"),
      {.fingerprint = "fp", .owner = "the first", .lease_ttl = absl::Milliseconds(200)});
  ASSERT_TRUE(reserved.ok()) << reserved.status();
  client::Reservation first = std::move(std::get<client::Fresh>(*reserved).reservation);
  EXPECT_FALSE(first.previous().has_value());
  ASSERT_TRUE(first.Extend({.lease_ttl = absl::Milliseconds(200), .checkpoint = "half way"}).ok());
  api_.AwaitState("k", v1::STATE_LAPSED);
  const auto done = Is<client::Done>(Run("k", [&](WorkContext& context) {
    EXPECT_TRUE(context.takeover());
    EXPECT_EQ(context.previous()->fence, first.fence());
    EXPECT_EQ(context.previous()->owner, "the first");
    EXPECT_EQ(context.previous()->checkpoint, "half way");
    EXPECT_GT(context.fence(), first.fence());
    EXPECT_EQ(context.attempt(), 2);
    return Result{.body = "done"};
  }));
  EXPECT_TRUE(done.executed.takeover);
  EXPECT_EQ(client::DetailsOf(first.Commit({}).status()).reason, "SUPERSEDED");
}

TEST_F(RunOnceTest, ASupersededRunIsToldSo) {
  options_.lease_ttl = absl::Milliseconds(200);
  options_.keep_max = absl::ZeroDuration();
  v1::Reservation second;
  const auto lost = Is<client::NotCommitted>(Run("k", [&](WorkContext&) {
    api_.AwaitState("k", v1::STATE_LAPSED);
    second = api_.Grant("k", WithFingerprint("fp"));
    return Result{.body = "done"};
  }));
  EXPECT_EQ(lost.reason, client::NotCommitted::Reason::kSuperseded);
  EXPECT_EQ(client::DetailsOf(lost.error).metadata.at("fence"), std::to_string(second.fence()));
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_PENDING);
}

TEST_F(RunOnceTest, WorkIsToldThatAnOperatorTookTheKey) {
  options_.lease_ttl = absl::Seconds(3);
  options_.classifier = [](const auto&) { return client::Verdict::kUnknown; };
  Is<client::Undecided>(Run("k", [&](WorkContext& context) -> absl::StatusOr<Result> {
    client::admin_v1::EvictRequest evict;
    evict.set_namespace_(kNamespace);
    evict.set_key("k");
    evict.set_fence(context.fence());
    evict.set_force(true);
    EXPECT_TRUE(client::AdminClient::Connect(server_.admin_address()).Evict(evict).ok());
    std::mutex mutex;
    std::condition_variable_any told;
    std::unique_lock lock(mutex);
    // Ends when a stop is requested.
    EXPECT_FALSE(told.wait(lock, context.lost(), [] { return false; }));
    return absl::AbortedError("lost");
  }));
}

}  // namespace
}  // namespace onced::integration
