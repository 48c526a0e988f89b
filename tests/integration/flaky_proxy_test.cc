// The network that other tests trust to be bad.
#include "tests/integration/flaky_proxy.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>

#include "tests/integration/process.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using grpc::StatusCode;
using testing::Contains;
using testing::Pair;

constexpr char kMethod[] = "/any.v1.Service/Method";

// Answers with what it was sent, or with the error that the metadata ask for.
class Echo : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Reactor(*this, *context);
  }

  std::atomic<int> calls = 0;

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    Reactor(Echo& echo, grpc::GenericCallbackServerContext& context)
        : echo_(echo), context_(context) {
      StartRead(&message_);
    }
    void OnReadDone(bool /*ok*/) override {
      ++echo_.calls;
      const auto asked = context_.client_metadata().find("asked");
      context_.AddInitialMetadata("early", "yes");
      if (asked != context_.client_metadata().end()) {
        context_.AddTrailingMetadata("heard", {asked->second.data(), asked->second.size()});
      }
      context_.AddTrailingMetadata("some-bin", std::string("\0\1", 2));
      if (context_.client_metadata().count("fail") > 0) {
        return Finish(grpc::Status(StatusCode::ABORTED, "as asked", "details"));
      }
      StartWriteAndFinish(&message_, {}, grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    Echo& echo_;
    grpc::GenericCallbackServerContext& context_;
    grpc::ByteBuffer message_;
  };
};

struct Heard {
  grpc::Status status;
  std::string message;
  std::multimap<std::string, std::string> early;
  std::multimap<std::string, std::string> trailers;
};

std::multimap<std::string, std::string> Copy(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  std::multimap<std::string, std::string> copy;
  for (const auto& [name, value] : metadata) {
    copy.emplace(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  return copy;
}

class FlakyProxyTest : public testing::Test {
 protected:
  FlakyProxyTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&echo_);
    server_ = builder.BuildAndStart();
    proxy_ = std::make_unique<FlakyProxy>(
        1, std::vector<std::string>{"127.0.0.1:" + std::to_string(port)});
    stub_ = std::make_unique<grpc::GenericStub>(ConnectTo(proxy_->address()));
  }

  Heard Ask(const std::string& message,
            const std::multimap<std::string, std::string>& metadata = {},
            std::chrono::milliseconds timeout = kPatience) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    for (const auto& [name, value] : metadata) context.AddMetadata(name, value);
    const grpc::Slice slice(message);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub_->UnaryCall(&context, kMethod, {}, &request, &response,
                     [&](grpc::Status status) { done.set_value(std::move(status)); });
    Heard heard{.status = done.get_future().get(),
                .early = Copy(context.GetServerInitialMetadata()),
                .trailers = Copy(context.GetServerTrailingMetadata())};
    grpc::Slice bytes;
    if (heard.status.ok() && response.DumpToSingleSlice(&bytes).ok()) {
      heard.message.assign(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    }
    return heard;
  }
  void AwaitCalls(int count) {
    Await(std::to_string(count) + " calls", [&] { return echo_.calls == count; });
  }

  Echo echo_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<FlakyProxy> proxy_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

TEST_F(FlakyProxyTest, HandsOnAllThereIs) {
  const Heard heard = Ask("message", {{"asked", "a"}, {"other-bin", std::string("\0", 1)}});
  EXPECT_TRUE(heard.status.ok()) << heard.status.error_message();
  EXPECT_EQ(heard.message, "message");
  EXPECT_THAT(heard.early, Contains(Pair("early", "yes")));
  EXPECT_THAT(heard.trailers, Contains(Pair("heard", "a")));
  EXPECT_THAT(heard.trailers, Contains(Pair("some-bin", std::string("\0\1", 2))));
  const Heard failed = Ask("message", {{"fail", "1"}});
  EXPECT_EQ(failed.status.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(failed.status.error_message(), "as asked");
  EXPECT_EQ(failed.status.error_details(), "details");
  EXPECT_EQ(failed.trailers.count("grpc-status-details-bin"), 1u);
  EXPECT_EQ(proxy_->counts().calls, 2);
}

TEST_F(FlakyProxyTest, LosesRequests) {
  proxy_->SetFaults({.lose_request = 1});
  EXPECT_EQ(Ask("message").status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(echo_.calls, 0);
  EXPECT_EQ(proxy_->counts().lost_requests, 1);
  proxy_->SetFaults({});
  EXPECT_TRUE(Ask("message").status.ok());
}

TEST_F(FlakyProxyTest, LosesReplies) {
  proxy_->SetFaults({.lose_reply = 1});
  EXPECT_EQ(Ask("message").status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(echo_.calls, 1);
  EXPECT_EQ(proxy_->counts().lost_replies, 1);
}

TEST_F(FlakyProxyTest, LosesInSilence) {
  proxy_->SetFaults({.lose_reply = 1, .silence = 1});
  EXPECT_EQ(Ask("message", {}, std::chrono::milliseconds(100)).status.error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  AwaitCalls(1);
  Await("the count", [this] { return proxy_->counts().silences == 1; });
}

// Also where the caller is answered by the first and ends with it.
TEST_F(FlakyProxyTest, Doubles) {
  proxy_->SetFaults({.duplicate = 1, .late_max = std::chrono::milliseconds(20)});
  for (int i = 1; i <= 20; ++i) {
    EXPECT_EQ(Ask("message").message, "message");
    AwaitCalls(2 * i);
  }
  EXPECT_EQ(proxy_->counts().duplicates, 20);
}

TEST_F(FlakyProxyTest, EndsACallWithItsCaller) {
  proxy_->SetFaults({.delay = 1, .late_max = std::chrono::hours(1)});
  EXPECT_EQ(Ask("message", {}, std::chrono::milliseconds(100)).status.error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(echo_.calls, 0);
  EXPECT_EQ(proxy_->counts().delays, 1);
}

TEST_F(FlakyProxyTest, FindsAServerThatHasMoved) {
  proxy_->SetServer(0, "127.0.0.1:1");
  EXPECT_EQ(Ask("message").status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(proxy_->counts().lost_requests, 0) << "that was no lot";
}

}  // namespace
}  // namespace onced::integration
