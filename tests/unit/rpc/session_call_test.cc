// Sessions of a server in this process, over a store that stands still when told.
#include "server/rpc/session_call.h"

#include <google/rpc/error_details.pb.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/base/quiet_telemetry.h"
#include "server/base/random.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/errors.h"
#include "server/rpc/service.h"
#include "server/storage/memory/memory_store.h"
#include "tests/unit/shard/threads.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

constexpr absl::Duration kPatience = absl::Seconds(60);

// How many messages were answered.
class MessageCount final : public QuietTelemetry {
 public:
  void CallEnded(Method method, CallStatus, absl::Duration, absl::Duration) override
      ABSL_LOCKS_EXCLUDED(mutex_) {
    if (method != Method::kSession) return;
    const MutexLock lock(mutex_);
    ++count_;
    more_.NotifyAll();
  }
  void Await(int count) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    while (count_ < count) more_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar more_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

class Stream {
 public:
  explicit Stream(v1::IdempotencyService::Stub& stub) : stream_(stub.Session(&context_)) {}
  ~Stream() {
    if (finished_) return;
    Cancel();
    (void)Finish();  // Ignored: the test has seen what it wanted to.
  }

  bool Send(std::uint64_t id, const v1::Operation& operation, int times = 1) {
    v1::SessionRequest request;
    request.set_id(id);
    for (int i = 0; i < times; ++i) *request.add_operations() = operation;
    return stream_->Write(request);
  }
  bool Read(v1::SessionResponse& response) { return stream_->Read(&response); }
  void HalfClose() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  // Of all answers that are left, how many there are.
  int Drain() {
    int count = 0;
    for (v1::SessionResponse response; Read(response);) ++count;
    return count;
  }
  grpc::Status Finish() {
    Drain();
    finished_ = true;
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
  bool finished_ = false;
};

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status error;
  EXPECT_TRUE(error.ParseFromString(status.error_details())) << status.error_message();
  return onced::ReasonOf(error);
}

v1::Operation Reserve(const std::string& key, int wait_ms = 0) {
  v1::Operation operation;
  operation.mutable_reserve()->set_namespace_("ns");
  operation.mutable_reserve()->set_key(key);
  operation.mutable_reserve()->mutable_wait_timeout()->set_seconds(wait_ms / 1'000);
  operation.mutable_reserve()->mutable_wait_timeout()->set_nanos(wait_ms % 1'000 * 1'000'000);
  return operation;
}
v1::Operation Inspect(const std::string& key) {
  v1::Operation operation;
  operation.mutable_inspect()->set_namespace_("ns");
  operation.mutable_inspect()->set_key(key);
  return operation;
}
v1::Operation Commit(const std::string& key, const std::string& token, std::size_t body_bytes) {
  v1::Operation operation;
  operation.mutable_commit()->set_namespace_("ns");
  operation.mutable_commit()->set_key(key);
  operation.mutable_commit()->set_token(token);
  operation.mutable_commit()->mutable_result()->set_body(std::string(body_bytes, 'b'));
  return operation;
}

class SessionCallTest : public testing::Test {
 protected:
  // In the process there are no buffers on the way: what is sent is read.
  SessionCallTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    // More than one, so that what belongs to all of them is seen to.
    for (int i = 0; i < 2; ++i) {
      queues_.push_back(
          std::make_unique<CallQueue>(builder.AddCompletionQueue(), CallQueue::Callers::kMany));
    }
    server_ = builder.BuildAndStart();
    for (const auto& queue : queues_) {
      queue->Start([this](CallQueue& started) { service_.Accept(started); });
    }
    stub_ = v1::IdempotencyService::NewStub(server_->InProcessChannel({}));
  }
  ~SessionCallTest() override {
    store_.LetGo();
    service_.EndSessions();
    service_.AwaitIdle(kPatience);
    server_->Shutdown();
    for (const auto& queue : queues_) queue->Join();
  }

  v1::State StateOf(const std::string& key) {
    grpc::ClientContext context;
    v1::InspectResponse response;
    EXPECT_TRUE(stub_->Inspect(&context, Inspect(key).inspect(), &response).ok());
    return response.record().state();
  }
  // The answer to a message of its own.
  v1::BatchItem Do(const v1::Operation& operation) {
    Stream stream(*stub_);
    v1::SessionResponse response;
    EXPECT_TRUE(stream.Send(1, operation));
    EXPECT_TRUE(stream.Read(response));
    return response.items_size() == 1 ? response.items(0) : v1::BatchItem();
  }
  // The store stands still, and one message is in it.
  void Block(Stream& stream) {
    store_.Block();
    ASSERT_TRUE(stream.Send(0, Inspect("first")));
    store_.WaitUntilBlocked();
  }
  // Calls that the store is not asked for: time in which the server could do more
  // than it should.
  void LetTimePass() {
    for (int i = 0; i < 100; ++i) {
      grpc::ClientContext context;
      v1::ReserveResponse response;
      EXPECT_EQ(stub_->Reserve(&context, {}, &response).error_code(), grpc::INVALID_ARGUMENT);
    }
  }

  const SystemClock clock_;
  SystemRandom random_;
  MemoryDisk disk_;
  const std::unique_ptr<MemoryStore> memory_ =
      *MemoryStore::Open(disk_, {.shards = 4, .wall_now = clock_.Now(), .random = random_});
  shard_test::BlockingStore store_{*memory_};
  MessageCount messages_;
  ShardSet shards_{{.executors = 1}, store_, clock_, messages_};
  const PolicyTable policies_{{}, Policy{}};
  const Authenticator authenticator_;
  IdempotencyService service_{shards_, policies_, authenticator_, messages_};
  std::vector<std::unique_ptr<CallQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::IdempotencyService::Stub> stub_;
};

// Messages that the server takes while nothing is answered; one more may be sent,
// which it has not taken.
TEST_F(SessionCallTest, ReadsNoMoreThanItsBounds) {
  struct Row {
    const char* name;
    v1::Operation operation;
    int operations;
    int most;  // With the first, small one.
  };
  const Row rows[] = {
      {"messages", Inspect("k"), 1, 64},
      {"operations", Inspect("k"), 1'024, 5},
      {"bytes", Commit("k", "token", (4 << 20) - 1'000), 1, 4},
  };
  for (const Row& row : rows) {
    constexpr int kMore = 80;
    Stream stream(*stub_);
    Block(stream);
    std::atomic<int> sent{1};
    std::thread sender([&] {
      for (int i = 1; i <= kMore; ++i) {
        EXPECT_TRUE(stream.Send(i, row.operation, row.operations));
        ++sent;
      }
      stream.HalfClose();
    });
    while (sent < row.most) std::this_thread::yield();
    LetTimePass();
    EXPECT_LE(sent, row.most + 1) << row.name;
    store_.LetGo();
    EXPECT_EQ(stream.Drain(), 1 + kMore) << row.name;
    sender.join();
    EXPECT_TRUE(stream.Finish().ok()) << row.name;
  }
}

// 40 MiB of results are asked for, and nobody reads.
TEST_F(SessionCallTest, ResultsBeyondTheUnsentBoundAreLeftOut) {
  constexpr int kReplays = 40;
  const std::string token = Do(Reserve("k")).reserve().reservation().token();
  ASSERT_TRUE(Do(Commit("k", token, 1 << 20)).has_commit());
  messages_.Await(2);
  Stream stream(*stub_);
  Block(stream);
  for (int i = 1; i <= kReplays; ++i) ASSERT_TRUE(stream.Send(i, Reserve("k")));
  ASSERT_TRUE(stream.Send(kReplays + 1, Reserve("new")));
  store_.LetGo();
  messages_.Await(2 + 1 + kReplays + 1);
  // They are counted before their answers are made; this one is answered after them.
  EXPECT_EQ(StateOf("k"), v1::STATE_COMMITTED);
  int whole = 0;
  int left_out = 0;
  bool granted = false;
  for (int i = 0; i < kReplays + 2; ++i) {
    v1::SessionResponse response;
    ASSERT_TRUE(stream.Read(response));
    const v1::BatchItem& item = response.items(0);
    whole += item.reserve().has_replay();
    left_out += item.has_error() && onced::ReasonOf(item.error()) == "REPLY_TOO_LARGE";
    granted = granted || item.reserve().has_reservation();
  }
  EXPECT_EQ(whole, 15) << "each is a little more than 1 MiB, and there is room for 16 MiB";
  EXPECT_EQ(left_out, kReplays - 15);
  EXPECT_TRUE(granted) << "a grant is delivered in any case";
  ASSERT_TRUE(stream.Send(99, Reserve("k")));
  v1::SessionResponse response;
  ASSERT_TRUE(stream.Read(response));
  EXPECT_TRUE(response.items(0).reserve().has_replay()) << "there is room again";
}

TEST_F(SessionCallTest, EndSessionsEndsThoseThatAreOpenAndThoseThatComeLater) {
  Stream idle(*stub_);
  ASSERT_TRUE(idle.Send(1, Inspect("k")));
  v1::SessionResponse response;
  ASSERT_TRUE(idle.Read(response));
  EXPECT_EQ(service_.sessions(), 1u);
  service_.EndSessions();
  const grpc::Status status = idle.Finish();
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "DRAINING");
  Stream late(*stub_);
  EXPECT_EQ(ReasonOf(late.Finish()), "DRAINING");
  service_.AwaitIdle(kPatience);
  EXPECT_EQ(service_.sessions(), 0u);
}

TEST_F(SessionCallTest, EndSessionsLetsWhatWasReadBeAnswered) {
  Stream stream(*stub_);
  Block(stream);
  for (int i = 1; i <= 10; ++i) ASSERT_TRUE(stream.Send(i, Reserve(absl::StrCat("k", i))));
  while (shards_.queue_depth(0) < 10) std::this_thread::yield();
  service_.EndSessions();
  (void)stream.Send(11, Reserve("k11"));  // Ignored: whether it can be sent is not the point.
  store_.LetGo();
  EXPECT_EQ(stream.Drain(), 11);
  EXPECT_EQ(ReasonOf(stream.Finish()), "DRAINING");
  EXPECT_EQ(StateOf("k11"), v1::STATE_ABSENT);
  EXPECT_EQ(StateOf("k10"), v1::STATE_PENDING);
}

TEST_F(SessionCallTest, AHalfClosedOneEndsWithOkThoughTheServerEnds) {
  Stream stream(*stub_);
  Block(stream);
  stream.HalfClose();
  LetTimePass();
  service_.EndSessions();
  store_.LetGo();
  EXPECT_EQ(stream.Drain(), 1);
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(SessionCallTest, AMessageThatCannotBeParsedLetsWhatWasReadBeAnswered) {
  Stream stream(*stub_);
  Block(stream);
  ASSERT_TRUE(stream.Send(1, Reserve("\xff")));
  LetTimePass();
  store_.LetGo();
  EXPECT_EQ(stream.Drain(), 1);
  EXPECT_EQ(ReasonOf(stream.Finish()), "INVALID_FIELD");
}

TEST_F(SessionCallTest, WhatWasSubmittedIsExecutedThoughTheCallerHasGone) {
  {
    Stream stream(*stub_);
    Block(stream);
    ASSERT_TRUE(stream.Send(1, Reserve("k")));
    while (shards_.queue_depth(0) < 1) std::this_thread::yield();
  }
  store_.LetGo();
  service_.AwaitIdle(kPatience);
  EXPECT_EQ(StateOf("k"), v1::STATE_PENDING);
}

// But one that would wait, and was not judged yet, is given nothing.
TEST_F(SessionCallTest, OneThatWouldWaitIsNotGrantedOnceTheCallerHasGone) {
  {
    Stream stream(*stub_);
    Block(stream);
    ASSERT_TRUE(stream.Send(1, Reserve("k", 60'000)));
    while (shards_.queue_depth(0) < 1) std::this_thread::yield();
    stream.Cancel();
    // Once it has failed on this side, the server soon knows.
    EXPECT_EQ(stream.Finish().error_code(), grpc::CANCELLED);
    LetTimePass();
  }
  store_.LetGo();
  service_.AwaitIdle(kPatience);
  EXPECT_EQ(StateOf("k"), v1::STATE_ABSENT);
}

// Many at once, which end in all ways at all times; a sanitizer looks on.
TEST_F(SessionCallTest, EndInAnyWayAtAnyTime) {
  constexpr int kThreads = 4;
  constexpr int kSessions = 100;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int s = 0; s < kSessions; ++s) {
        Stream stream(*stub_);
        const int messages = static_cast<int>(random() % 20);
        int sent = 0;
        for (int i = 0; i < messages; ++i) {
          sent += stream.Send(i, Reserve(absl::StrCat(random() % 3), random() % 2 == 0 ? 20 : 0));
          if (random() % 4 == 0) continue;
          sent += stream.Send(i, Inspect("k"), 1 + static_cast<int>(random() % 50));
        }
        if (random() % 2 == 0) stream.HalfClose();
        v1::SessionResponse response;
        for (int i = 0; i < sent && random() % 3 > 0; ++i) EXPECT_TRUE(stream.Read(response));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  service_.AwaitIdle(kPatience);
  EXPECT_EQ(service_.sessions(), 0u);
  EXPECT_EQ(shards_.waiters(), 0u);
}

TEST_F(SessionCallTest, EndSessionsAtAnyTime) {
  std::vector<std::thread> threads;
  std::atomic<bool> started{false};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (;;) {
        Stream stream(*stub_);
        int sent = 0;
        v1::SessionResponse response;
        const auto ask = [&] { return stream.Send(sent, Reserve("k")) && stream.Read(response); };
        while (sent < 50 && ask()) ++sent;
        if (sent == 50) started = true;
        stream.HalfClose();
        const grpc::Status status = stream.Finish();
        if (status.ok()) continue;
        EXPECT_EQ(ReasonOf(status), "DRAINING");
        return;
      }
    });
  }
  while (!started) std::this_thread::yield();
  service_.EndSessions();
  for (std::thread& thread : threads) thread.join();
  service_.AwaitIdle(kPatience);
  EXPECT_EQ(service_.sessions(), 0u);
}

// ---- Of Batch, which has the same operations ----

// What settles a reservation has room of its own: its batch isn't refused.
TEST_F(SessionCallTest, ABatchOfNewWorkIsRefusedWholeWhileThereIsNoRoomForIt) {
  Stream stream(*stub_);
  Block(stream);
  v1::BatchRequest full;
  for (int i = 0; i < 1'024; ++i) *full.add_operations() = Reserve("k");
  const auto call = [&](const v1::BatchRequest& request, v1::BatchResponse& response) {
    grpc::ClientContext context;
    return stub_->Batch(&context, request, &response);
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 10; ++i) {
    callers.emplace_back([&] {
      v1::BatchResponse response;
      EXPECT_TRUE(call(full, response).ok()) << "there was room for the first of them";
    });
  }
  while (!shards_.Crowded("ns")) std::this_thread::yield();
  const std::size_t depth = shards_.queue_depth(0);
  v1::BatchRequest one;
  *one.add_operations() = Reserve("k");
  v1::BatchResponse response;
  const grpc::Status refused = call(one, response);
  EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "QUEUE_FULL");
  one.mutable_operations(0)->mutable_reserve()->set_namespace_("-");
  const grpc::Status nonsense = call(one, response);
  EXPECT_TRUE(nonsense.ok()) << "that is said first";
  one.mutable_operations(0)->mutable_reserve()->set_namespace_("ns");
  *one.add_operations() = Commit("k", "no token", 1);
  callers.emplace_back([&] {
    v1::BatchResponse mixed;
    EXPECT_TRUE(call(one, mixed).ok());
    ASSERT_EQ(mixed.items_size(), 2);
    EXPECT_EQ(onced::ReasonOf(mixed.items(0).error()), "QUEUE_FULL");
    EXPECT_NE(onced::ReasonOf(mixed.items(1).error()), "QUEUE_FULL");
  });
  while (shards_.queue_depth(0) == depth) std::this_thread::yield();  // It isn't answered.
  store_.LetGo();
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace onced
