// A batch's reply: its items, and what they may take.
#include "server/rpc/batch.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/bytes.h"
#include "server/rpc/errors.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

constexpr std::size_t kReplyMax = std::size_t{4} << 20;

Answer AnswerOf(Reply reply) { return {std::move(reply), TestStart(), absl::ZeroDuration()}; }

BatchOutcome Replays(std::size_t body_bytes, const Result& with = {}) {
  Result result = with;
  result.body = std::string(body_bytes, 'b');
  result.body_size = static_cast<std::int64_t>(body_bytes);
  result.body_sha256 = std::string(32, 's');
  return {.kind = v1::Operation::kReserve,
          .answer = AnswerOf(Replayed{StoredResult(std::move(result)), TestStart(), TestStart(),
                                      Fence{INT64_MAX}})};
}

BatchOutcome Grants(std::size_t checkpoint_bytes, std::size_t owner_bytes = 128) {
  return {.kind = v1::Operation::kReserve,
          .answer = AnswerOf(
              Fresh{.fence = {INT64_MAX},
                    .attempt = UINT32_MAX >> 1,
                    .lease_expire_time = TestStart(),
                    .previous = Previous{{INT64_MAX}, std::string(owner_bytes, 'o'), TestStart()},
                    .checkpoint = std::string(checkpoint_bytes, 'c')})};
}

BatchOutcome InspectsPending(std::size_t checkpoint_bytes) {
  Record record = FullPending();
  auto& pending = std::get<Pending>(record.phase);
  record.owner = record.fingerprint = std::string(128, 'o');
  pending.previous = Previous{{INT64_MAX}, std::string(128, 'o'), TestStart()};
  pending.checkpoint = std::string(checkpoint_bytes, 'c');
  return {.kind = v1::Operation::kInspect,
          .answer = AnswerOf(Inspected{State::kPending, record, TestStart(), TestStart()})};
}

BatchOutcome InspectsCommitted(std::size_t body_bytes, bool include_result) {
  return {.kind = v1::Operation::kInspect,
          .include_result = include_result,
          .answer =
              AnswerOf(Inspected{State::kCommitted, MinimalCommitted(std::string(body_bytes, 'b')),
                                 std::nullopt, TestStart()})};
}

std::string ReasonAt(const v1::BatchResponse& response, int index) {
  return ReasonOf(response.items(index).error());
}

TEST(BatchResponse, HasAnItemForEachOperationInTheirOrder) {
  const google::rpc::Status invalid = ErrorOf(std::vector<Violation>{{"key", "is required"}});
  const std::vector<BatchOutcome> outcomes = {
      Replays(10),
      {.kind = v1::Operation::kCommit, .answer = AnswerOf(CommitDone{.late = true})},
      {.kind = v1::Operation::kRelease, .answer = AnswerOf(ReleaseDone{true})},
      {.kind = v1::Operation::kExtend, .answer = AnswerOf(ExtendDone{TestStart()})},
      InspectsPending(3),
      {.kind = v1::Operation::kCommit, .answer = invalid},
      {.kind = v1::Operation::kCommit,
       .answer = AnswerOf(Refused{Refusal::kNotReserved, std::nullopt, std::nullopt})},
      {.kind = v1::Operation::OPERATION_NOT_SET, .answer = invalid},
  };
  const v1::BatchResponse response = BatchResponseOf(outcomes);
  ASSERT_EQ(response.items_size(), 8);
  EXPECT_EQ(response.items(0).reserve().replay().result().body(), "bbbbbbbbbb");
  EXPECT_TRUE(response.items(1).commit().late());
  EXPECT_TRUE(response.items(2).release().released());
  EXPECT_TRUE(response.items(3).extend().has_lease_expire_time());
  EXPECT_EQ(response.items(4).inspect().record().checkpoint(), "ccc");
  EXPECT_EQ(response.items(5).error().SerializeAsString(), invalid.SerializeAsString());
  EXPECT_EQ(ReasonAt(response, 6), "NOT_RESERVED");
  EXPECT_EQ(ReasonAt(response, 7), "INVALID_FIELD");
}

TEST(BatchResponse, ReplaysThatDoNotFitAreReplaced) {
  const v1::BatchResponse response =
      BatchResponseOf(std::vector<BatchOutcome>(8, Replays(1 << 20)));
  EXPECT_LT(response.ByteSizeLong(), kReplyMax);
  for (int i = 0; i < 8; ++i) {
    if (i < 3) {
      EXPECT_EQ(response.items(i).reserve().replay().result().body().size(), 1u << 20) << i;
    } else {
      EXPECT_EQ(ReasonAt(response, i), "REPLY_TOO_LARGE") << i;
      EXPECT_EQ(response.items(i).error().code(), grpc::RESOURCE_EXHAUSTED) << i;
    }
  }
}

TEST(BatchResponse, TheLargestResultFitsByItself) {
  Result with;
  for (int i = 0; i < 64; ++i)
    with.headers.push_back({std::string(128, 'n'), std::string(128, 'v')});
  const v1::BatchResponse response = BatchResponseOf({Replays(3 << 20, with)});
  EXPECT_TRUE(response.items(0).has_reserve());
}

TEST(BatchResponse, ASmallerOneAfterOneThatDoesNotFitIsDelivered) {
  const v1::BatchResponse response =
      BatchResponseOf({Replays(3 << 20), Replays(2 << 20), Replays(100)});
  EXPECT_TRUE(response.items(0).has_reserve());
  EXPECT_EQ(ReasonAt(response, 1), "REPLY_TOO_LARGE");
  EXPECT_TRUE(response.items(2).has_reserve());
}

TEST(BatchResponse, AGrantIsDeliveredEvenWithoutItsCheckpoint) {
  const v1::BatchResponse response =
      BatchResponseOf({Replays(3 << 20), Replays(1'000'000), Grants(64 << 10), Grants(10)});
  ASSERT_TRUE(response.items(2).has_reserve());
  const v1::Reservation& grant = response.items(2).reserve().reservation();
  EXPECT_NE(grant.token(), "");
  EXPECT_TRUE(grant.has_previous());
  EXPECT_EQ(grant.previous().checkpoint(), "");
  EXPECT_TRUE(grant.previous().checkpoint_omitted());
  const v1::Previous& small = response.items(3).reserve().reservation().previous();
  EXPECT_EQ(small.checkpoint().size(), 10);
  EXPECT_FALSE(small.checkpoint_omitted());
}

TEST(BatchResponse, ARecordCountsOnlyWhatIsShownOfIt) {
  const std::vector<BatchOutcome> without(8, InspectsCommitted(1 << 20, false));
  const v1::BatchResponse all = BatchResponseOf(without);
  for (const v1::BatchItem& item : all.items()) EXPECT_TRUE(item.has_inspect());
  const std::vector<BatchOutcome> with(8, InspectsCommitted(1 << 20, true));
  EXPECT_EQ(ReasonAt(BatchResponseOf(with), 7), "REPLY_TOO_LARGE");
}

// Each kind of item at its largest, 1,024 times.
TEST(BatchResponse, IsNeverTooLarge) {
  std::vector<Violation> all_wrong;
  for (const char* field :
       {"namespace", "key", "fingerprint", "request_id", "owner", "lease_ttl", "wait_timeout"}) {
    all_wrong.push_back({std::string("operations[1023].reserve.") + field, std::string(120, 'd')});
  }
  Result headers_only;
  for (int i = 0; i < 64; ++i) headers_only.headers.push_back({"", "v"});
  Holder holder{.owner = std::string(128, 'o'),
                .fence = {INT64_MAX},
                .reserve_time = TestStart(),
                .lease_expire_time = TestStart()};
  const std::pair<const char*, BatchOutcome> rows[] = {
      {"replays", Replays(4'000)},
      {"replays of a megabyte", Replays(1 << 20)},
      {"replays that just fit", Replays(2'048)},
      {"many small headers", Replays(0, headers_only)},
      {"grants", Grants(64 << 10)},
      {"grants with checkpoints of 2 KiB", Grants(2'048)},
      {"pending records", InspectsPending(64 << 10)},
      {"pending records of 1 KiB", InspectsPending(1'024)},
      {"committed records", InspectsCommitted(3'000, true)},
      {"conflicts",
       {.kind = v1::Operation::kReserve, .answer = AnswerOf(Conflict{holder, absl::Seconds(1)})}},
      {"errors", {.kind = v1::Operation::kReserve, .answer = ErrorOf(all_wrong)}},
      {"refusals",
       {.kind = v1::Operation::kCommit,
        .answer =
            AnswerOf(Refused{Refusal::kOutcomeUnknown, State::kCommitted, Fence{INT64_MAX}})}},
  };
  for (const auto& [name, outcome] : rows) {
    const v1::BatchResponse response = BatchResponseOf(std::vector<BatchOutcome>(1'024, outcome));
    EXPECT_EQ(response.items_size(), 1'024) << name;
    EXPECT_LT(response.ByteSizeLong(), kReplyMax) << name;
  }
}

}  // namespace
}  // namespace onced
