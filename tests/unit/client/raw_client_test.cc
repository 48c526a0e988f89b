#include "client/cpp/raw_client.h"

#include <chrono>
#include <map>
#include <set>

#include "client/cpp/call.h"
#include "client/cpp/error.h"
#include "client/cpp/request_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "idempotency/v1/idempotency_mock.grpc.pb.h"
#include "tests/unit/client/fake_server.h"

namespace onced::client {
namespace {

using testing::_;
using testing::DoAll;
using testing::MatchesRegex;
using testing::Property;
using testing::Return;
using testing::SetArgPointee;

class RawClientTest : public testing::Test {
 protected:
  RawClientTest()
      : owned_(std::make_unique<v1::MockIdempotencyServiceStub>()),
        stub_(*owned_),
        client_(std::move(owned_)) {}

  std::unique_ptr<v1::MockIdempotencyServiceStub> owned_;
  v1::MockIdempotencyServiceStub& stub_;
  RawClient client_;
};

// The request as it was given, the response as it came.
TEST_F(RawClientTest, Reserve) {
  v1::ReserveRequest request;
  request.set_key("k");
  v1::ReserveResponse response;
  response.set_outcome(v1::OUTCOME_CONFLICT);
  EXPECT_CALL(stub_, Reserve(_, Property(&v1::ReserveRequest::key, "k"), _))
      .WillOnce(DoAll(SetArgPointee<2>(response), Return(grpc::Status::OK)));
  const auto got = client_.Reserve(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->outcome(), v1::OUTCOME_CONFLICT);
}

TEST_F(RawClientTest, Commit) {
  v1::CommitRequest request;
  request.set_token("t");
  v1::CommitResponse response;
  response.set_late(true);
  EXPECT_CALL(stub_, Commit(_, Property(&v1::CommitRequest::token, "t"), _))
      .WillOnce(DoAll(SetArgPointee<2>(response), Return(grpc::Status::OK)));
  const auto got = client_.Commit(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(got->late());
}

TEST_F(RawClientTest, Release) {
  v1::ReleaseRequest request;
  request.set_token("t");
  v1::ReleaseResponse response;
  response.set_released(true);
  EXPECT_CALL(stub_, Release(_, Property(&v1::ReleaseRequest::token, "t"), _))
      .WillOnce(DoAll(SetArgPointee<2>(response), Return(grpc::Status::OK)));
  const auto got = client_.Release(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(got->released());
}

TEST_F(RawClientTest, Extend) {
  v1::ExtendRequest request;
  request.set_checkpoint("c");
  v1::ExtendResponse response;
  response.mutable_lease_expire_time()->set_seconds(7);
  EXPECT_CALL(stub_, Extend(_, Property(&v1::ExtendRequest::checkpoint, "c"), _))
      .WillOnce(DoAll(SetArgPointee<2>(response), Return(grpc::Status::OK)));
  const auto got = client_.Extend(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->lease_expire_time().seconds(), 7);
}

TEST_F(RawClientTest, Inspect) {
  v1::InspectRequest request;
  request.set_include_result(true);
  v1::InspectResponse response;
  response.mutable_record()->set_state(v1::STATE_LAPSED);
  EXPECT_CALL(stub_, Inspect(_, Property(&v1::InspectRequest::include_result, true), _))
      .WillOnce(DoAll(SetArgPointee<2>(response), Return(grpc::Status::OK)));
  const auto got = client_.Inspect(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->record().state(), v1::STATE_LAPSED);
}

TEST_F(RawClientTest, Batch) {
  v1::BatchRequest request;
  request.add_operations()->mutable_inspect();
  request.add_operations()->mutable_inspect();
  v1::BatchResponse response;
  response.add_items()->mutable_error()->set_code(5);
  EXPECT_CALL(stub_, Batch(_, Property(&v1::BatchRequest::operations_size, 2), _))
      .WillOnce(DoAll(SetArgPointee<2>(response), Return(grpc::Status::OK)));
  const auto got = client_.Batch(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->items(0).error().code(), 5);
}

TEST_F(RawClientTest, SendsAFailedCallOnce) {
  EXPECT_CALL(stub_, Reserve)
      .Times(1)
      .WillOnce(Return(grpc::Status(grpc::StatusCode::UNAVAILABLE, "starting")));
  const auto got = client_.Reserve({});
  EXPECT_EQ(got.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(got.status().message(), "starting");
}

TEST_F(RawClientTest, HandsTheDeadlineOn) {
  const absl::Time deadline = absl::FromUnixSeconds(4'000'000'000);
  EXPECT_CALL(stub_, Release)
      .WillOnce([&](grpc::ClientContext* context, const auto&, auto*) {
        // gRPC keeps deadlines to the nanosecond.
        EXPECT_EQ(absl::FromChrono(context->deadline()), deadline);
        return grpc::Status::OK;
      })
      .WillOnce([](grpc::ClientContext* context, const auto&, auto*) {
        EXPECT_EQ(context->deadline(), std::chrono::system_clock::time_point::max());
        return grpc::Status::OK;
      });
  EXPECT_TRUE(client_.Release({}, {.deadline = deadline}).ok());
  EXPECT_TRUE(client_.Release({}).ok());
}

TEST(RawClientOverTheWire, ConnectsAndKeepsDetails) {
  FakeServer server;
  server.release.status = grpc::Status(grpc::StatusCode::ABORTED, "no",
                                       ToAbslStatus(ErrorDetails{
                                                        .code = absl::StatusCode::kAborted,
                                                        .message = "no",
                                                        .reason = "SUPERSEDED",
                                                        .domain = kDomain,
                                                    })
                                           .GetPayload("type.googleapis.com/"
                                                       "google.rpc.Status")
                                           .value()
                                           .
                                           operator std::string());
  RawClient client = RawClient::Connect(server.target());
  const absl::Status status = client.Release({}).status();
  EXPECT_EQ(DetailsOf(status).reason, "SUPERSEDED");
  EXPECT_EQ(server.release.requests.size(), 1u);
}

// gRPC would take them as none.
TEST(RawClientOverTheWire, DeadlinesBefore1970HavePassed) {
  FakeServer server;
  RawClient client = RawClient::Connect(server.target());
  for (const absl::Time deadline :
       {absl::InfinitePast(), absl::UnixEpoch() - absl::Seconds(1), absl::UnixEpoch()}) {
    EXPECT_EQ(client.Release({}, {.deadline = deadline}).status().code(),
              absl::StatusCode::kDeadlineExceeded)
        << deadline;
  }
  EXPECT_TRUE(server.release.requests.empty());
}

// A server that is gone, or somewhere else by now, is noticed within seconds; and no server of
// ours ends the connection for it.
TEST(ArgumentsOf, NoticesADeadPeerInSeconds) {
  const struct {
    absl::Duration backoff_max;
    int reconnect_max;
    int connect;
  } kRows[] = {{absl::Seconds(2), 2'000, 3'000},
               {absl::Seconds(10), 10'000, 10'000},
               {absl::ZeroDuration(), 100, 3'000}};
  for (const auto& row : kRows) {
    const grpc::ChannelArguments arguments =
        ArgumentsOf({.reconnect_backoff_max = row.backoff_max});
    const grpc_channel_args list = arguments.c_channel_args();
    std::map<std::string, int> integers;
    for (std::size_t i = 0; i < list.num_args; ++i) {
      const grpc_arg& argument = list.args[i];
      if (argument.type == GRPC_ARG_INTEGER) integers[argument.key] = argument.value.integer;
    }
    EXPECT_EQ(integers[GRPC_ARG_MAX_RECONNECT_BACKOFF_MS], row.reconnect_max);
    EXPECT_EQ(integers[GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS], 100);
    EXPECT_EQ(integers[GRPC_ARG_MIN_RECONNECT_BACKOFF_MS], row.connect);
    EXPECT_EQ(integers[GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS], row.connect);
    EXPECT_GT(integers[GRPC_ARG_KEEPALIVE_TIME_MS], 10'000);  // What the server allows.
    EXPECT_LE(integers[GRPC_ARG_KEEPALIVE_TIME_MS] + integers[GRPC_ARG_KEEPALIVE_TIMEOUT_MS],
              20'000);
  }
}

TEST(NewRequestId, IsADifferentOf128Bits) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewRequestId();
    EXPECT_THAT(id, MatchesRegex("[0-9a-f]{32}"));
    EXPECT_TRUE(seen.insert(id).second) << id;
  }
}

}  // namespace
}  // namespace onced::client
