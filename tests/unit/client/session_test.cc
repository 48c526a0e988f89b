#include "client/cpp/session.h"

#include <string>
#include <vector>

#include "client/cpp/error.h"
#include "gmock/gmock.h"
#include "grpcpp/test/mock_stream.h"
#include "gtest/gtest.h"
#include "idempotency/v1/idempotency_mock.grpc.pb.h"

namespace onced::client {
namespace {

using testing::_;
using testing::DoAll;
using testing::InSequence;
using testing::Return;
using testing::SetArgPointee;

using Stream = grpc::testing::MockClientReaderWriter<v1::SessionRequest, v1::SessionResponse>;

class SessionTest : public testing::Test {
 protected:
  // A session over the mock; the stub's pointer becomes the session's.
  Session Open(const CallOptions& options = {}) {
    EXPECT_CALL(stub_, SessionRaw).WillOnce([&](grpc::ClientContext* context) {
      deadline_ = context->deadline();
      return &stream_;
    });
    return Session::Open(stub_, options);
  }
  // That it ends, how, and that nothing is left to read.
  void ExpectEnd(const grpc::Status& status) {
    EXPECT_CALL(stream_, WritesDone()).WillOnce(Return(true));
    EXPECT_CALL(stream_, Read(_)).WillOnce(Return(false));
    EXPECT_CALL(stream_, Finish()).WillOnce(Return(status));
  }

  v1::MockIdempotencyServiceStub stub_;
  Stream& stream_ = *new Stream;  // The session's, once it is open.
  std::chrono::system_clock::time_point deadline_;
};

v1::Operation InspectOf(const std::string& key) {
  v1::Operation operation;
  operation.mutable_inspect()->set_key(key);
  return operation;
}

TEST_F(SessionTest, SendsWhatItIsGiven) {
  Session session = Open();
  v1::SessionRequest sent;
  EXPECT_CALL(stream_, Write(_, _)).WillOnce([&](const v1::SessionRequest& request, auto) {
    sent = request;
    return true;
  });
  EXPECT_TRUE(session.Send(7, {InspectOf("a"), InspectOf("b")}));
  EXPECT_EQ(sent.id(), 7u);
  ASSERT_EQ(sent.operations_size(), 2);
  EXPECT_EQ(sent.operations(0).inspect().key(), "a");
  EXPECT_EQ(sent.operations(1).inspect().key(), "b");
  ExpectEnd(grpc::Status::OK);
  EXPECT_TRUE(session.Finish().ok());
}

TEST_F(SessionTest, ReadsUntilThereIsNothing) {
  Session session = Open();
  v1::SessionResponse answer;
  answer.set_id(7);
  {
    const InSequence in_order;
    EXPECT_CALL(stream_, Read(_)).WillOnce(DoAll(SetArgPointee<0>(answer), Return(true)));
    EXPECT_CALL(stream_, Read(_)).WillOnce(Return(false));
    EXPECT_CALL(stream_, WritesDone()).WillOnce(Return(true));
    EXPECT_CALL(stream_, Read(_)).WillOnce(Return(false));
    EXPECT_CALL(stream_, Finish()).WillOnce(Return(grpc::Status::OK));
  }
  const auto got = session.Read();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->id(), 7u);
  EXPECT_FALSE(session.Read().has_value());
  EXPECT_TRUE(session.Finish().ok());
}

TEST_F(SessionTest, SaysThatItFailedAndWhy) {
  Session session = Open();
  EXPECT_CALL(stream_, Write(_, _)).WillOnce(Return(false));
  EXPECT_FALSE(session.Send(1, {InspectOf("a")}));
  ExpectEnd(grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining"));
  const absl::Status status = session.Finish();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "draining");
}

TEST_F(SessionTest, HalfClosesOnce) {
  Session session = Open();
  ExpectEnd(grpc::Status::OK);
  session.WritesDone();
  session.WritesDone();
  EXPECT_TRUE(session.Finish().ok());
}

TEST_F(SessionTest, FinishDropsWhatWasNotRead) {
  Session session = Open();
  EXPECT_CALL(stream_, WritesDone()).WillOnce(Return(true));
  EXPECT_CALL(stream_, Read(_))
      .WillOnce(Return(true))
      .WillOnce(Return(true))
      .WillOnce(Return(false));
  EXPECT_CALL(stream_, Finish()).WillOnce(Return(grpc::Status::OK));
  EXPECT_TRUE(session.Finish().ok());
}

TEST_F(SessionTest, IsEndedByItsDestructorUnlessItHasEnded) {
  {
    const Session session = Open();
    ExpectEnd(grpc::Status::CANCELLED);
  }
  // The mock is gone with it, and has checked that it was finished once.
}

TEST_F(SessionTest, AMovedOneEndsOnce) {
  Session session = Open();
  Session moved = std::move(session);
  ExpectEnd(grpc::Status::OK);
  EXPECT_TRUE(moved.Finish().ok());
}

TEST_F(SessionTest, HandsTheDeadlineOn) {
  const absl::Time deadline = absl::FromUnixSeconds(4'000'000'000);
  Session session = Open({.deadline = deadline});
  EXPECT_EQ(absl::FromChrono(deadline_), deadline);
  ExpectEnd(grpc::Status::OK);
  EXPECT_TRUE(session.Finish().ok());
}

}  // namespace
}  // namespace onced::client
