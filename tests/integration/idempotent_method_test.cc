// A user's own service, a real server of ours behind it, and real connections between all.
#include "client/cpp/idempotent_method.h"

#include <future>

#include "client/cpp/error.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
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

class IdempotentMethodTest : public testing::Test {
 protected:
  IdempotentMethodTest() { Serve(); }

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

  ServerProcess server_;
  Api api_{server_.Connect()};
  client::MethodOptions options_{
      .name_space = kNamespace, .scope = AccountOf, .classifier = client::ByGrpcStatus};
  std::unique_ptr<ChargesServer> charges_;
  std::unique_ptr<Caller> caller_;
};

TEST_F(IdempotentMethodTest, RunsOnceAndReplays) {
  const Called first = Charge(5);
  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  EXPECT_FALSE(first.replayed);
  const Called second = Charge(5);
  ASSERT_TRUE(second.status.ok()) << second.status.error_message();
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(first.response.SerializeAsString(), second.response.SerializeAsString());
  EXPECT_EQ(charges_->runs, 1);
}

}  // namespace
}  // namespace onced::integration
