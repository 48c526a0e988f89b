// UnaryCall and StreamCall, and the CallQueue that they are on: what may happen to
// them at any time. Sanitizers look on.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "server/base/mutex.h"
#include "server/rpc/service.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/wire.h"
#include "tests/unit/rpc/relay.h"
#include "tests/unit/rpc/served.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

// Who waits for something to be so, told by who changes it.
class Counts {
 public:
  void Add(const std::string& what, int change = 1) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    counts_[what] += change;
    changed_.NotifyAll();
  }
  void Await(const std::string& what, int count) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    while (counts_[what] != count) changed_.Wait(mutex_);
  }
  int Of(const std::string& what) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return counts_[what];
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
};

// Calls that are parked until somebody replies: a thread of its own to those that
// were cancelled, and to the others when told.
class Parking {
 public:
  explicit Parking(Counts& counts) : counts_(counts), runner_([this] { Run(); }) {}
  ~Parking() {
    {
      const MutexLock lock(mutex_);
      ends_ = true;
      changed_.NotifyAll();
    }
    runner_.join();
  }

  std::unique_ptr<UnaryCall::Work> Park(UnaryCall& call) {
    auto work = std::make_unique<Parked>(*this, call);
    const MutexLock lock(mutex_);
    parked_.insert(&call);
    if (lets_go_) Hand(&call);
    return work;
  }
  // All that are parked, and those that come.
  void LetGo() {
    const MutexLock lock(mutex_);
    lets_go_ = true;
    while (!parked_.empty()) Hand(*parked_.begin());
  }

 private:
  class Parked final : public UnaryCall::Work {
   public:
    Parked(Parking& parking, UnaryCall& call) : parking_(parking), call_(call) {
      parking_.counts_.Add("parked");
    }
    ~Parked() override { parking_.counts_.Add("parked", -1); }
    void OnCancel() override {
      parking_.counts_.Add("cancelled");
      const MutexLock lock(parking_.mutex_);
      parking_.Hand(&call_);
    }

   private:
    Parking& parking_;
    UnaryCall& call_;
  };

  // Unless it is on its way already.
  void Hand(UnaryCall* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (parked_.erase(call) == 0) return;
    to_answer_.push_back(call);
    changed_.NotifyAll();
  }
  void Run() {
    for (;;) {
      std::vector<UnaryCall*> calls;
      {
        const MutexLock lock(mutex_);
        while (to_answer_.empty() && !ends_) changed_.Wait(mutex_);
        if (to_answer_.empty()) return;
        calls.swap(to_answer_);
      }
      for (UnaryCall* call : calls) {
        if (++answered_ % 3 == 0) {
          call->Reply({grpc::ABORTED, "the third"});
        } else {
          call->Reply(Serialize(v1::ReserveResponse()));
        }
      }
    }
  }

  Counts& counts_;

  Mutex mutex_;
  CondVar changed_;
  absl::flat_hash_set<UnaryCall*> parked_ ABSL_GUARDED_BY(mutex_);
  std::vector<UnaryCall*> to_answer_ ABSL_GUARDED_BY(mutex_);
  bool lets_go_ ABSL_GUARDED_BY(mutex_) = false;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;

  int answered_ = 0;    // The runner's.
  std::thread runner_;  // Last: uses what is above.
};

// Sends back what it reads, and finishes when there is nothing more.
class Echo final : public StreamCall::Work {
 public:
  Echo(Counts& counts, StreamCall& call) : counts_(counts), call_(call) { counts_.Add("streams"); }
  ~Echo() override { counts_.Add("streams", -1); }
  void Start() { call_.StartRead(&bytes_); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return call_.Finish(grpc::Status::OK);
    counts_.Add("read");
    call_.StartWrite(bytes_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return call_.Finish(grpc::Status::CANCELLED);
    call_.StartRead(&bytes_);
  }
  void OnCancel() override { counts_.Add("stream cancelled"); }

  Counts& counts_;
  StreamCall& call_;
  grpc::ByteBuffer bytes_;
};

// A call that its caller can give up.
class Caller {
 public:
  explicit Caller(v1::IdempotencyService::Stub& stub) {
    stub.async()->Reserve(&context_, &request_, &response_,
                          [this](grpc::Status status) { finished_.set_value(std::move(status)); });
  }
  void Cancel() { context_.TryCancel(); }
  grpc::StatusCode Code() { return finished_.get_future().get().error_code(); }

 private:
  grpc::ClientContext context_;
  const v1::ReserveRequest request_;
  v1::ReserveResponse response_;
  std::promise<grpc::Status> finished_;
};

using Callers = CallQueue::Callers;

class CallsByQueue : public testing::TestWithParam<std::pair<Callers, int>> {
 protected:
  CallsByQueue()
      : reserve_{.request = [this](auto... arguments) { service_.RequestReserve(arguments...); },
                 .begin = [this](UnaryCall& call) { return parking_.Park(call); },
                 .cancels = true},
        session_{.request = [this](auto... arguments) { service_.RequestSession(arguments...); },
                 .begin =
                     [this](StreamCall& call) {
                       auto echo = std::make_unique<Echo>(counts_, call);
                       echo->Start();
                       return echo;
                     }},
        served_(std::make_unique<rpc_test::Served>(
            service_,
            [this](CallQueue& queue) {
              UnaryCall::Await(reserve_, queue);
              StreamCall::Await(session_, queue);
            },
            GetParam().first, GetParam().second)),
        stub_(v1::IdempotencyService::NewStub(served_->channel())) {}
  ~CallsByQueue() override {
    parking_.LetGo();
    served_.reset();
    EXPECT_EQ(counts_.Of("parked"), 0);
    EXPECT_EQ(counts_.Of("streams"), 0);
  }

  std::vector<std::unique_ptr<Caller>> Park(int count) {
    std::vector<std::unique_ptr<Caller>> callers;
    for (int i = 0; i < count; ++i) callers.push_back(std::make_unique<Caller>(*stub_));
    counts_.Await("parked", count);
    return callers;
  }
  void Shutdown() { served_->server().Shutdown(); }

  Counts counts_;
  Parking parking_{counts_};
  RawService service_;
  const UnaryCall::Method reserve_;
  const StreamCall::Method session_;
  std::unique_ptr<rpc_test::Served> served_;
  const std::unique_ptr<v1::IdempotencyService::Stub> stub_;
};

INSTANTIATE_TEST_SUITE_P(, CallsByQueue,
                         testing::Values(std::pair(Callers::kMany, 1), std::pair(Callers::kMany, 3),
                                         std::pair(Callers::kFew, 1)),
                         [](const auto& param) {
                           return (param.param.first == Callers::kMany ? "Many" : "Few") +
                                  std::to_string(param.param.second);
                         });

TEST_P(CallsByQueue, AreAnsweredFromAnotherThread) {
  const auto callers = Park(100);
  parking_.LetGo();
  int failed = 0;
  for (const auto& caller : callers) failed += caller->Code() == grpc::ABORTED;
  EXPECT_EQ(failed, 33);
  counts_.Await("parked", 0);
  EXPECT_EQ(counts_.Of("cancelled"), 0);
}

TEST_P(CallsByQueue, ItIsNoticedThatOneHangs) {
  std::promise<void> hangs;
  std::promise<void> goes_on;
  RawService service;
  const UnaryCall::Method method{
      .request = [&](auto... arguments) { service.RequestReserve(arguments...); },
      .begin = [&](UnaryCall& call) -> std::unique_ptr<UnaryCall::Work> {
        hangs.set_value();
        goes_on.get_future().wait();
        call.Reply(grpc::Status(grpc::ABORTED, ""));
        return nullptr;
      }};
  auto server =
      GrpcServer::Listen({.setting = "listen",
                          .address = "127.0.0.1:0",
                          .service_name = rpc_test::kServiceName,
                          .buffer_bytes_max = std::size_t{256} << 20,
                          .queues = GetParam().second,
                          .callers = GetParam().first,
                          .accept = [&](CallQueue& queue) { UnaryCall::Await(method, queue); },
                          .patience = std::chrono::nanoseconds(0)},
                         service);
  ASSERT_TRUE(server.ok());
  const auto turns = [&] {  // All of its threads, several times.
    for (int i = 0; i < 3; ++i) {
      while (!(*server)->Alive().ok()) std::this_thread::yield();
    }
  };
  turns();
  const auto stub = v1::IdempotencyService::NewStub(
      rpc_test::Served::ConnectTo("127.0.0.1:" + std::to_string((*server)->port())));
  Caller caller(*stub);
  hangs.get_future().wait();
  // The one that hangs was asked when all others had answered.
  for (int i = 0; i < 100; ++i) (void)(*server)->Alive();
  EXPECT_FALSE((*server)->Alive().ok());
  goes_on.set_value();
  EXPECT_EQ(caller.Code(), grpc::ABORTED);
  turns();
  (*server)->Shutdown();
  for (int i = 0; i < 3; ++i) (void)(*server)->Alive();  // Of no harm.
}

// More slowly, but all of them; and the end comes in whatever state.
TEST_P(CallsByQueue, WhileItIsCrowdedTheyAreTakenAFewAtATime) {
  std::atomic<int> asked{0};
  RawService service;
  const UnaryCall::Method method{
      .request = [&](auto... arguments) { service.RequestReserve(arguments...); },
      .begin = [](UnaryCall& call) -> std::unique_ptr<UnaryCall::Work> {
        call.Reply(grpc::Status(grpc::ABORTED, ""));
        return nullptr;
      },
      .crowded = [&] { return ++asked % 10 != 0; },
      .crowded_max = 3};
  rpc_test::Served served(
      service, [&](CallQueue& queue) { UnaryCall::Await(method, queue); }, GetParam().first,
      GetParam().second);
  const auto stub = v1::IdempotencyService::NewStub(served.channel());
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 50; ++i) callers.push_back(std::make_unique<Caller>(*stub));
  for (const auto& caller : callers) EXPECT_EQ(caller->Code(), grpc::ABORTED);
  EXPECT_EQ(asked, 50);
  served.server().Shutdown();
}

TEST_P(CallsByQueue, OneThatIsCancelledIsToldOnce) {
  const auto callers = Park(100);
  for (std::size_t i = 0; i < callers.size(); i += 2) callers[i]->Cancel();
  counts_.Await("parked", 50);
  EXPECT_EQ(counts_.Of("cancelled"), 50);
  parking_.LetGo();
  for (std::size_t i = 0; i < callers.size(); ++i) {
    EXPECT_EQ(callers[i]->Code() == grpc::CANCELLED, i % 2 == 0);
  }
}

TEST_P(CallsByQueue, AConnectionThatIsCutCancelsItsCalls) {
  rpc_test::Relay relay(served_->server().port());
  const auto cut = v1::IdempotencyService::NewStub(rpc_test::Served::ConnectTo(relay.address()));
  Caller caller(*cut);
  grpc::ClientContext context;
  const auto session = cut->Session(&context);
  EXPECT_TRUE(session->Write({}));
  counts_.Await("parked", 1);
  counts_.Await("read", 1);
  relay.Cut();
  counts_.Await("parked", 0);
  counts_.Await("streams", 0);
  EXPECT_EQ(counts_.Of("cancelled"), 1);
  EXPECT_EQ(counts_.Of("stream cancelled"), 1);
  EXPECT_EQ(caller.Code(), grpc::UNAVAILABLE);
  v1::SessionResponse response;
  while (session->Read(&response)) {
  }
  EXPECT_EQ(session->Finish().error_code(), grpc::UNAVAILABLE);
}

TEST_P(CallsByQueue, TheServersEndCancelsThem) {
  const auto callers = Park(50);
  grpc::ClientContext context;
  const auto session = stub_->Session(&context);
  EXPECT_TRUE(session->Write({}));
  counts_.Await("read", 1);
  Shutdown();
  EXPECT_EQ(counts_.Of("parked"), 0);
  EXPECT_EQ(counts_.Of("streams"), 0);
  EXPECT_EQ(counts_.Of("cancelled"), 50);
  for (const auto& caller : callers) EXPECT_NE(caller->Code(), grpc::OK);
  v1::SessionResponse response;
  while (session->Read(&response)) {
  }
  EXPECT_FALSE(session->Finish().ok());
}

// The call has no connection any more that the end of the server would wait for.
TEST_P(CallsByQueue, TheServersEndWaitsForCallsOfAConnectionThatWasCut) {
  rpc_test::Relay relay(served_->server().port());
  const auto cut = v1::IdempotencyService::NewStub(rpc_test::Served::ConnectTo(relay.address()));
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 50; ++i) callers.push_back(std::make_unique<Caller>(*cut));
  counts_.Await("parked", 50);
  relay.Cut();
  Shutdown();
  EXPECT_EQ(counts_.Of("parked"), 0);
  for (const auto& caller : callers) EXPECT_EQ(caller->Code(), grpc::UNAVAILABLE);
}

TEST_P(CallsByQueue, AnUnknownMethodIsUnimplemented) {
  grpc::TemplatedGenericStub<v1::ReserveRequest, v1::ReserveResponse> stub(served_->channel());
  grpc::ClientContext context;
  const v1::ReserveRequest request;
  v1::ReserveResponse response;
  std::promise<grpc::Status> finished;
  stub.UnaryCall(&context, "/the.Service/Nothing", {}, &request, &response,
                 [&](grpc::Status status) { finished.set_value(std::move(status)); });
  EXPECT_EQ(finished.get_future().get().error_code(), grpc::UNIMPLEMENTED);
}

TEST_P(CallsByQueue, EndInAnyWayAtAnyTime) {
  parking_.LetGo();
  const int calls = GetParam().first == Callers::kMany ? 300 : 30;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < calls; ++i) {
        Caller caller(*stub_);
        if (random() % 2 == 0) caller.Cancel();
        grpc::ClientContext context;
        const auto session = stub_->Session(&context);
        v1::SessionResponse response;
        for (unsigned m = 0; m < random() % 3; ++m) session->Write({});
        if (random() % 2 == 0) session->WritesDone();
        context.TryCancel();
        while (session->Read(&response)) {
        }
        (void)session->Finish();  // Ignored: any way will do.
        caller.Code();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  counts_.Await("parked", 0);
  counts_.Await("streams", 0);
}

// Callers go on while the server ends.
TEST_P(CallsByQueue, TheServerEndsAtAnyTime) {
  parking_.LetGo();
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (grpc::StatusCode code = grpc::OK;
           code != grpc::UNAVAILABLE && code != grpc::CANCELLED;) {
        code = Caller(*stub_).Code();
        ++answered;
      }
    });
  }
  while (answered < 20) std::this_thread::yield();
  Shutdown();
  for (std::thread& thread : threads) thread.join();
}

// ---- Starting ----

TEST(GrpcServer, ListensNowhereAndLeavesNothing) {
  RawService first_service;
  RawService second_service;
  rpc_test::Served first(first_service, [](CallQueue&) {});
  const auto second = GrpcServer::Listen({.setting = "the_setting",
                                          .address = first.address(),
                                          .service_name = rpc_test::kServiceName,
                                          .buffer_bytes_max = 1 << 20,
                                          .queues = 3,
                                          .accept = [](CallQueue&) { ADD_FAILURE(); }},
                                         second_service);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("the_setting"), absl::string_view::npos);
  EXPECT_NE(second.status().message().find("in use"), absl::string_view::npos);
}

TEST(GrpcServer, EndsThoughNobodyEverCalled) {
  for (int i = 0; i < 20; ++i) {
    RawService service;
    rpc_test::Served served(
        service, [](CallQueue&) {}, i % 2 == 0 ? Callers::kMany : Callers::kFew, 1 + i % 2 * 2);
  }
}

}  // namespace
}  // namespace onced
