#include "client/cpp/error.h"

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"

namespace onced::client {
namespace {

using testing::ElementsAre;
using testing::Pair;

google::rpc::ErrorInfo Info(const std::string& reason, const std::string& domain) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(domain);
  (*info.mutable_metadata())["state"] = "COMMITTED";
  (*info.mutable_metadata())["fence"] = "12";
  return info;
}

template <typename... Detail>
grpc::Status Failure(grpc::StatusCode code, const Detail&... details) {
  google::rpc::Status status;
  status.set_code(code);
  (status.add_details()->PackFrom(details), ...);
  return {code, "message", status.SerializeAsString()};
}

TEST(ErrorDetails, AreDecoded) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  retry.mutable_retry_delay()->set_nanos(250'000'000);
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field("key");
  violation->set_description("is empty");
  bad.add_field_violations()->set_field("owner");

  const ErrorDetails details = DetailsOf(
      ToAbslStatus(Failure(grpc::StatusCode::ABORTED, Info("SUPERSEDED", "onced"), retry, bad)));
  EXPECT_EQ(details.code, absl::StatusCode::kAborted);
  EXPECT_EQ(details.message, "message");
  EXPECT_EQ(details.reason, "SUPERSEDED");
  EXPECT_EQ(details.domain, "onced");
  EXPECT_THAT(details.metadata, ElementsAre(Pair("fence", "12"), Pair("state", "COMMITTED")));
  EXPECT_EQ(details.retry_delay, absl::Milliseconds(1250));
  ASSERT_EQ(details.violations.size(), 2u);
  EXPECT_EQ(details.violations[0].field, "key");
  EXPECT_EQ(details.violations[0].description, "is empty");
  EXPECT_EQ(details.violations[1].field, "owner");
}

TEST(ErrorDetails, OursWinOverAProxys) {
  const auto ours = Info("SUPERSEDED", "onced");
  const auto other = Info("RATE_LIMIT", "proxy.example");
  EXPECT_EQ(DetailsOf(ToAbslStatus(Failure(grpc::StatusCode::ABORTED, ours, other))).reason,
            "SUPERSEDED");
  EXPECT_EQ(DetailsOf(ToAbslStatus(Failure(grpc::StatusCode::ABORTED, other, ours))).reason,
            "SUPERSEDED");
}

TEST(ErrorDetails, MissingOrDamagedLeaveCodeAndMessage) {
  for (const std::string& bytes : {std::string(), std::string("\xFF\xFF not a message")}) {
    const ErrorDetails details =
        DetailsOf(ToAbslStatus(grpc::Status(grpc::StatusCode::NOT_FOUND, "gone", bytes)));
    EXPECT_EQ(details.code, absl::StatusCode::kNotFound);
    EXPECT_EQ(details.message, "gone");
    EXPECT_EQ(details.reason, "");
    EXPECT_FALSE(details.retry_delay.has_value());
  }
}

TEST(ErrorDetails, EveryCodeKeepsItsNumber) {
  EXPECT_TRUE(ToAbslStatus(grpc::Status::OK).ok());
  for (int code = 1; code <= 16; ++code) {
    const auto status = ToAbslStatus(grpc::Status(static_cast<grpc::StatusCode>(code), "m"));
    EXPECT_EQ(static_cast<int>(status.code()), code);
  }
}

TEST(ErrorDetails, OfOnesOwnAreReadBack) {
  const ErrorDetails details = DetailsOf(ToAbslStatus(ErrorDetails{
      .code = absl::StatusCode::kResourceExhausted,
      .message = "m",
      .reason = "QUEUE_FULL",
      .domain = "onced",
      .metadata = {{"a", "b"}},
      .retry_delay = absl::Milliseconds(-1500),
      .violations = {{.field = "f", .description = "d"}},
  }));
  EXPECT_EQ(details.code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(details.message, "m");
  EXPECT_EQ(details.reason, "QUEUE_FULL");
  EXPECT_EQ(details.domain, "onced");
  EXPECT_THAT(details.metadata, ElementsAre(Pair("a", "b")));
  EXPECT_EQ(details.retry_delay, absl::Milliseconds(-1500));
  ASSERT_EQ(details.violations.size(), 1u);
  EXPECT_EQ(details.violations[0].description, "d");
}

TEST(ErrorDetails, WithoutAReasonAreReadBack) {
  const ErrorDetails details = DetailsOf(
      ToAbslStatus(ErrorDetails{.code = absl::StatusCode::kAborted, .metadata = {{"a", "b"}}}));
  EXPECT_THAT(details.metadata, ElementsAre(Pair("a", "b")));
}

struct UnknownRow {
  const char* name;
  absl::StatusCode code;
  const char* reason;
  const char* domain;
  bool unknown;
};

const UnknownRow kUnknownRows[] = {
    {"ours_unknown", absl::StatusCode::kUnavailable, "OUTCOME_UNKNOWN", "onced", true},
    {"ours_draining", absl::StatusCode::kUnavailable, "DRAINING", "onced", false},
    {"ours_deadline", absl::StatusCode::kDeadlineExceeded, "DEADLINE_PASSED", "onced", false},
    {"ours_full", absl::StatusCode::kResourceExhausted, "QUEUE_FULL", "onced", false},
    {"bare_unavailable", absl::StatusCode::kUnavailable, "", "", true},
    {"bare_deadline", absl::StatusCode::kDeadlineExceeded, "", "", true},
    {"bare_exhausted", absl::StatusCode::kResourceExhausted, "", "", true},
    {"bare_internal", absl::StatusCode::kInternal, "", "", true},
    {"bare_cancelled", absl::StatusCode::kCancelled, "", "", true},
    {"proxys_unknown", absl::StatusCode::kUnavailable, "DRAINING", "proxy.example", true},
    {"bare_denied", absl::StatusCode::kPermissionDenied, "", "", false},
    {"bare_unauthenticated", absl::StatusCode::kUnauthenticated, "", "", false},
    {"bare_unimplemented", absl::StatusCode::kUnimplemented, "", "", false},
    {"bare_invalid", absl::StatusCode::kInvalidArgument, "", "", false},
};

// Which a message of protobuf's can't hold.
TEST(ErrorDetails, OfAMessageThatIsNotUtf8AreReadBack) {
  const ErrorDetails details = DetailsOf(ToAbslStatus(
      ErrorDetails{.code = absl::StatusCode::kAborted, .message = "\x99", .reason = "SUPERSEDED"}));
  EXPECT_EQ(details.message, "\x99");
  EXPECT_EQ(details.reason, "SUPERSEDED");
}

TEST(ErrorDetails, SayWhetherTheCallMayHaveBeenExecuted) {
  for (const UnknownRow& row : kUnknownRows) {
    const ErrorDetails details{.code = row.code, .reason = row.reason, .domain = row.domain};
    EXPECT_EQ(details.OutcomeUnknown(), row.unknown) << row.name;
  }
}

TEST(ToGrpcStatus, HasTheDetailsAndIsWholeByItself) {
  const ErrorDetails details{.code = absl::StatusCode::kAborted,
                             .message = "busy",
                             .reason = "BUSY",
                             .domain = "shop.example",
                             .retry_delay = absl::Seconds(3)};
  const grpc::Status status = ToGrpcStatus(ToAbslStatus(details));
  EXPECT_EQ(status.error_code(), grpc::ABORTED);
  EXPECT_EQ(status.error_message(), "busy");
  const ErrorDetails back = DetailsOf(ToAbslStatus(status));
  EXPECT_EQ(back.reason, "BUSY");
  EXPECT_EQ(back.retry_delay, absl::Seconds(3));
  google::rpc::Status proto;
  ASSERT_TRUE(proto.ParseFromString(status.error_details()));
  EXPECT_EQ(proto.code(), grpc::ABORTED);
  EXPECT_EQ(proto.message(), "busy");
  // What may not be UTF-8 has no place in that message.
  ErrorDetails odd = details;
  odd.message = "b\xff";
  const grpc::Status bytes = ToGrpcStatus(ToAbslStatus(odd));
  EXPECT_EQ(bytes.error_message(), "b\xff");
  ASSERT_TRUE(proto.ParseFromString(bytes.error_details()));
  EXPECT_EQ(proto.message(), "");
  // Without details there are none.
  const grpc::Status plain = ToGrpcStatus(absl::NotFoundError("no"));
  EXPECT_EQ(plain.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(plain.error_details(), "");
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace onced::client
