// The error table of section 5 of docs/protocol.md.
#include "server/rpc/errors.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "idempotency/v1/idempotency.pb.h"
#include "tests/support/printers.h"

namespace onced {
namespace {

struct Row {
  Refusal refusal;
  grpc::StatusCode code;
  const char* reason;
  std::optional<double> retry_seconds;  // nullopt: no RetryInfo.
};

const Row kRows[] = {
    {Refusal::kSuperseded, grpc::ABORTED, "SUPERSEDED", std::nullopt},
    {Refusal::kRestored, grpc::ABORTED, "RESTORED", std::nullopt},
    {Refusal::kCommittedDifferently, grpc::FAILED_PRECONDITION, "COMMITTED_DIFFERENTLY",
     std::nullopt},
    {Refusal::kAlreadyCommitted, grpc::FAILED_PRECONDITION, "ALREADY_COMMITTED", std::nullopt},
    {Refusal::kNotReserved, grpc::NOT_FOUND, "NOT_RESERVED", std::nullopt},
    {Refusal::kQueueFull, grpc::RESOURCE_EXHAUSTED, "QUEUE_FULL", 0.1},
    {Refusal::kDiskFull, grpc::RESOURCE_EXHAUSTED, "DISK_FULL", 1},
    {Refusal::kDraining, grpc::UNAVAILABLE, "DRAINING", 1},
    {Refusal::kStoreFailed, grpc::UNAVAILABLE, "STORE_FAILED", 1},
    {Refusal::kDeadlinePassed, grpc::DEADLINE_EXCEEDED, "DEADLINE_PASSED", std::nullopt},
    {Refusal::kCancelled, grpc::CANCELLED, "CANCELLED", std::nullopt},
    {Refusal::kNamespaceNotAllowed, grpc::PERMISSION_DENIED, "NAMESPACE_NOT_ALLOWED", std::nullopt},
    {Refusal::kReplyTooLarge, grpc::RESOURCE_EXHAUSTED, "REPLY_TOO_LARGE", 0},
    {Refusal::kMemoryFull, grpc::RESOURCE_EXHAUSTED, "MEMORY_FULL", 0.1},
    {Refusal::kQuotaExceeded, grpc::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", 0.1},
    {Refusal::kOutcomeUnknown, grpc::UNAVAILABLE, "OUTCOME_UNKNOWN", 1},
};

// Of an operator's calls alone: reasons of the admin service.
const Row kAdminRows[] = {
    {Refusal::kFenceMismatch, grpc::ABORTED, "FENCE_MISMATCH", std::nullopt},
    {Refusal::kHeld, grpc::FAILED_PRECONDITION, "HELD", std::nullopt},
};

template <typename Detail>
std::optional<Detail> DetailOf(const google::rpc::Status& error) {
  std::optional<Detail> found;
  for (const auto& any : error.details()) {
    Detail detail;
    if (!any.UnpackTo(&detail)) continue;
    EXPECT_FALSE(found.has_value()) << "twice";
    found = detail;
  }
  return found;
}

TEST(Errors, EveryRefusalHasItsRow) {
  std::vector<Row> rows(std::begin(kRows), std::end(kRows));
  rows.insert(rows.end(), std::begin(kAdminRows), std::end(kAdminRows));
  for (const Row& row : rows) {
    SCOPED_TRACE(row.reason);
    const google::rpc::Status error = ErrorOf(Refused{row.refusal});
    EXPECT_EQ(error.code(), row.code);
    EXPECT_NE(error.message(), "");
    EXPECT_EQ(ReasonOf(error), row.reason);
    const auto info = DetailOf<google::rpc::ErrorInfo>(error);
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->domain(), "onced");
    EXPECT_EQ(info->metadata_size(), 0);
    const auto retry = DetailOf<google::rpc::RetryInfo>(error);
    ASSERT_EQ(retry.has_value(), row.retry_seconds.has_value());
    if (!retry.has_value()) continue;
    EXPECT_DOUBLE_EQ(retry->retry_delay().seconds() + retry->retry_delay().nanos() / 1e9,
                     *row.retry_seconds);
  }
}

TEST(Errors, WhoIsNotKnownIsToldSoAndNothingElse) {
  const google::rpc::Status error = Unauthenticated();
  EXPECT_EQ(error.code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(error), "UNAUTHENTICATED");
  EXPECT_EQ(error.details_size(), 1);
}

TEST(Errors, OnlyAnUnknownOutcomeDoesNotSayThatNothingWasDone) {
  for (const Row& row : kRows) {
    const auto retry = row.code == grpc::UNAVAILABLE || row.code == grpc::RESOURCE_EXHAUSTED;
    EXPECT_EQ(retry, row.retry_seconds.has_value())
        << row.reason << ": section 5 of docs/protocol.md";
  }
}

// A row here is missing if the API has a reason that no refusal gives.
TEST(Errors, EveryReasonOfTheApiIsReached) {
  std::set<std::string> reached = {"INVALID_FIELD",     // ErrorOf(violations).
                                   "UNAUTHENTICATED"};  // Unauthenticated().
  for (const Row& row : kRows) {
    EXPECT_TRUE(reached.insert(row.reason).second) << row.reason << " is given twice";
  }
  const std::vector<std::string> all = AllReasons();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()), reached);
  EXPECT_EQ(all.size(), reached.size());
  for (const std::string& reason : all) {
    idempotency::v1::ErrorReason value;
    EXPECT_TRUE(idempotency::v1::ErrorReason_Parse("ERROR_REASON_" + reason, &value)) << reason;
  }
}

TEST(Errors, StateAndFenceAreMetadata) {
  const std::pair<State, const char*> rows[] = {{State::kAbsent, "ABSENT"},
                                                {State::kPending, "PENDING"},
                                                {State::kLapsed, "LAPSED"},
                                                {State::kCommitted, "COMMITTED"}};
  for (const auto& [state, name] : rows) {
    const auto info = DetailOf<google::rpc::ErrorInfo>(
        ErrorOf(Refused{Refusal::kSuperseded, state, Fence{1'700'000'000'000'000}}));
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->metadata().at("state"), name);
    EXPECT_EQ(info->metadata().at("fence"), "1700000000000000");
  }
}

TEST(Errors, ViolationsAreListedAndTheFirstIsTheMessage) {
  const google::rpc::Status one = ErrorOf(std::vector<Violation>{{"key", "is required"}});
  EXPECT_EQ(one.code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(one.message(), "key: is required");
  EXPECT_EQ(ReasonOf(one), "INVALID_FIELD");

  const google::rpc::Status two =
      ErrorOf(std::vector<Violation>{{"key", "is required"}, {"token", "is too long"}});
  EXPECT_THAT(two.message(), testing::HasSubstr("key: is required"));
  EXPECT_THAT(two.message(), testing::HasSubstr("1 more"));
  const auto bad = DetailOf<google::rpc::BadRequest>(two);
  ASSERT_TRUE(bad.has_value());
  ASSERT_EQ(bad->field_violations_size(), 2);
  EXPECT_EQ(bad->field_violations(1).field(), "token");
  EXPECT_EQ(bad->field_violations(1).description(), "is too long");
  EXPECT_FALSE(DetailOf<google::rpc::RetryInfo>(two).has_value());
}

TEST(Errors, TheWholeStatusTravelsInTheTrailers) {
  const google::rpc::Status error = ErrorOf(Refused{Refusal::kQueueFull});
  const grpc::Status status = ToGrpc(error);
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), error.message());
  EXPECT_EQ(status.error_details(), error.SerializeAsString());
}

TEST(Errors, AnErrorWithoutInfoHasNoReason) { EXPECT_EQ(ReasonOf(google::rpc::Status{}), ""); }

}  // namespace
}  // namespace onced
