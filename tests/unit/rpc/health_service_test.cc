#include "server/rpc/health_service.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "tests/unit/rpc/relay.h"
#include "tests/unit/rpc/served.h"

namespace onced {
namespace {

using health_v1::HealthCheckResponse;

class NoService final : public idempotency::v1::IdempotencyService::AsyncService {};

// A watch, and what it is told next; UNKNOWN at its end.
class Watcher {
 public:
  Watcher(const std::shared_ptr<grpc::Channel>& channel, const std::string& name)
      : stub_(health_v1::Health::NewStub(channel)) {
    health_v1::HealthCheckRequest request;
    request.set_service(name);
    reader_ = stub_->Watch(&context_, request);
  }
  ~Watcher() {
    context_.TryCancel();
    if (!finished_) (void)Finish();  // Ignored: the test has seen what it wanted to.
  }

  HealthCheckResponse::ServingStatus Next() {
    HealthCheckResponse response;
    return reader_->Read(&response) ? response.status() : HealthCheckResponse::UNKNOWN;
  }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() {
    finished_ = true;
    while (Next() != HealthCheckResponse::UNKNOWN) {
    }
    return reader_->Finish();
  }

 private:
  const std::unique_ptr<health_v1::Health::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader_;
  bool finished_ = false;
};

class HealthServiceTest : public testing::TestWithParam<CallQueue::Callers> {
 protected:
  // Its status, or the error's code below zero.
  int Check(const std::string& name) {
    const auto stub = health_v1::Health::NewStub(served_.channel());
    grpc::ClientContext context;
    health_v1::HealthCheckRequest request;
    request.set_service(name);
    HealthCheckResponse response;
    const grpc::Status status = stub->Check(&context, request, &response);
    return status.ok() ? response.status() : -status.error_code();
  }

  NoService service_;
  rpc_test::Served served_{service_, [](CallQueue&) {}, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(, HealthServiceTest,
                         testing::Values(CallQueue::Callers::kMany, CallQueue::Callers::kFew),
                         [](const auto& param) {
                           return param.param == CallQueue::Callers::kMany ? "Many" : "Few";
                         });

TEST_P(HealthServiceTest, TellsOfTheServerAndItsService) {
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(rpc_test::kServiceName), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("the.service"), -grpc::NOT_FOUND);
  EXPECT_EQ(Check("grpc.health.v1.Health"), -grpc::NOT_FOUND);
  served_.server().StopServing();
  EXPECT_EQ(Check(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(rpc_test::kServiceName), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check("the.service"), -grpc::NOT_FOUND);
}

TEST_P(HealthServiceTest, WatchersAreToldWhatChangesAndThatTheServerEnds) {
  Watcher all(served_.channel(), "");
  Watcher one(served_.channel(), rpc_test::kServiceName);
  Watcher unknown(served_.channel(), "the.service");
  EXPECT_EQ(all.Next(), HealthCheckResponse::SERVING);
  EXPECT_EQ(one.Next(), HealthCheckResponse::SERVING);
  EXPECT_EQ(unknown.Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  served_.server().StopServing();
  served_.server().StopServing();  // Which changes nothing.
  EXPECT_EQ(all.Next(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(one.Next(), HealthCheckResponse::NOT_SERVING);
  Watcher late(served_.channel(), "");
  EXPECT_EQ(late.Next(), HealthCheckResponse::NOT_SERVING);
  served_.server().Shutdown();
  for (Watcher* watcher : {&all, &one, &unknown, &late}) {
    EXPECT_EQ(watcher->Next(), HealthCheckResponse::UNKNOWN) << "that was the last one";
    EXPECT_EQ(watcher->Finish().error_code(), grpc::UNAVAILABLE);
  }
}

TEST_P(HealthServiceTest, WatchersMayGoAtAnyTime) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        Watcher watcher(served_.channel(), i % 3 == 0 ? "nobody" : "");
        if (i % 2 == 0) watcher.Next();
        if (i % 4 == t) watcher.Cancel();
        if (t == 0 && i == 25) served_.server().StopServing();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Check(""), HealthCheckResponse::NOT_SERVING);
}

TEST_P(HealthServiceTest, AWatcherWhoseConnectionIsCutIsForgotten) {
  rpc_test::Relay relay(served_.server().port());
  Watcher watcher(rpc_test::Served::ConnectTo(relay.address()), "");
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::SERVING);
  relay.Cut();
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::UNKNOWN);
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
  served_.server().StopServing();
  EXPECT_EQ(Check(""), HealthCheckResponse::NOT_SERVING);
}

TEST_P(HealthServiceTest, TheServerEndsThoughWatchersComeAllTheTime) {
  std::vector<std::thread> threads;
  std::atomic<int> watched{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (bool serves = true; serves; ++watched) {
        Watcher watcher(served_.channel(), "");
        serves = watcher.Next() == HealthCheckResponse::SERVING;
      }
    });
  }
  while (watched < 20) std::this_thread::yield();
  served_.server().Shutdown();
  for (std::thread& thread : threads) thread.join();
}

// A client that sends no request has none to be told of.
TEST_P(HealthServiceTest, AWatchWithoutARequestIsRefused) {
  const auto stub = health_v1::Health::NewStub(served_.channel());
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  // The generated client can't do that: this is a stream both ways to the same method.
  const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Watch",
                                         grpc::internal::RpcMethod::BIDI_STREAMING);
  const std::unique_ptr<
      grpc::ClientReaderWriter<health_v1::HealthCheckRequest, HealthCheckResponse>>
      stream(grpc::internal::ClientReaderWriterFactory<
             health_v1::HealthCheckRequest, HealthCheckResponse>::Create(served_.channel().get(),
                                                                         method, &context));
  stream->WritesDone();
  HealthCheckResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace onced
