// The ledger's answers as the API's messages.
#include "server/rpc/translate.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <string>

#include "gtest/gtest.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

const absl::Time kTime = TestStart() + absl::Microseconds(1'500'001);  // :01.500001
constexpr char kTimeText[] = "{seconds: 1700000001 nanos: 500001000}";

Answer AnswerOf(Reply reply) { return {std::move(reply), kTime, absl::ZeroDuration()}; }

// The message that `text` describes, in which TIME stands for kTime.
template <typename Message>
Message Parsed(std::string text) {
  for (std::size_t at = 0; (at = text.find("TIME", at)) != std::string::npos;) {
    text.replace(at, 4, kTimeText);
  }
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

template <typename Message>
void ExpectSame(const Message& got, const std::string& want) {
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(Parsed<Message>(want), got)) << difference;
}

const Token kToken{{0x01020304}, {0xff, 1, 2, 3}};
const Holder kHolder{.state = State::kPending,
                     .owner = "alice",
                     .fence = {7},
                     .reserve_time = kTime,
                     .lease_expire_time = kTime};
constexpr char kHolderText[] =
    "state: STATE_PENDING owner: 'alice' fence: 7 reserve_time TIME lease_expire_time TIME";

Result AResult() {
  return {.status_code = -1,
          .headers = {{"a", "\xff"}, {"a", ""}},
          .headers_omitted = true,
          .body = "",
          .body_size = 9,
          .body_sha256 = std::string(32, 'd'),
          .body_omitted = true};
}
constexpr char kResultText[] =
    "status_code: -1 headers {name: 'a' value: '\\377'} headers {name: 'a'} body_size: 9 "
    "body_sha256: 'dddddddddddddddddddddddddddddddd' body_omitted: true headers_omitted: true";

TEST(ReserveResponse, OfAFirstGrant) {
  ExpectSame(ReserveResponseOf(AnswerOf(
                 Fresh{.token = kToken, .fence = {8}, .attempt = 1, .lease_expire_time = kTime})),
             "outcome: OUTCOME_FRESH server_time TIME reservation {token: '" + kToken.ToText() +
                 "' fence: 8 attempt: 1 lease_expire_time TIME}");
}

TEST(ReserveResponse, OfATakeover) {
  ExpectSame(ReserveResponseOf(AnswerOf(Fresh{.token = kToken,
                                              .fence = {8},
                                              .attempt = 2,
                                              .lease_expire_time = kTime,
                                              .previous = Previous{{7}, "alice", kTime},
                                              .checkpoint = "\xff"})),
             "outcome: OUTCOME_FRESH server_time TIME reservation {token: '" + kToken.ToText() +
                 "' fence: 8 attempt: 2 lease_expire_time TIME "
                 "previous {fence: 7 owner: 'alice' lapse_time TIME checkpoint: '\\377'}}");
}

TEST(ReserveResponse, OfAReplay) {
  ExpectSame(ReserveResponseOf(
                 AnswerOf(Replayed{StoredResult(AResult()), kTime, kTime + absl::Seconds(1), {8}})),
             std::string("outcome: OUTCOME_REPLAYED server_time TIME replay {result {") +
                 kResultText +
                 "} commit_time TIME expire_time {seconds: 1700000002 nanos: 500001000} fence: 8}");
}

TEST(ReserveResponse, OfTheVerdictsWithAHolder) {
  const std::string holder = kHolderText;
  ExpectSame(ReserveResponseOf(AnswerOf(Conflict{kHolder, absl::Microseconds(250'001)})),
             "outcome: OUTCOME_CONFLICT server_time TIME holder {" + holder +
                 " retry_delay {nanos: 250001000}}");
  ExpectSame(ReserveResponseOf(AnswerOf(Mismatch{kHolder})),
             "outcome: OUTCOME_MISMATCH server_time TIME holder {" + holder + "}");
  Holder lapsed = kHolder;
  lapsed.state = State::kLapsed;
  lapsed.lease_expire_time = std::nullopt;
  ExpectSame(ReserveResponseOf(AnswerOf(Unresolved{lapsed})),
             "outcome: OUTCOME_UNRESOLVED server_time TIME holder {state: STATE_LAPSED "
             "owner: 'alice' fence: 7 reserve_time TIME}");
}

TEST(OtherResponses, HaveEveryField) {
  ExpectSame(CommitResponseOf(AnswerOf(CommitDone{kTime, kTime, true, true, true, true})),
             "commit_time TIME expire_time TIME already_committed: true late: true "
             "body_omitted: true headers_omitted: true");
  ExpectSame(CommitResponseOf(AnswerOf(CommitDone{kTime, kTime})),
             "commit_time TIME expire_time TIME");
  ExpectSame(ReleaseResponseOf(AnswerOf(ReleaseDone{true})), "released: true");
  ExpectSame(ReleaseResponseOf(AnswerOf(ReleaseDone{false})), "");
  ExpectSame(ExtendResponseOf(AnswerOf(ExtendDone{kTime})), "lease_expire_time TIME");
}

Record APending() {
  return {.token = kToken,
          .fence = {8},
          .attempt = 3,
          .owner = "bob",
          .fingerprint = "fp",
          .reserve_time = kTime,
          .phase = Pending{.request_id = "secret",
                           .lease_expire_time = kTime,
                           .on_lapse = OnLapse::kRegrant,
                           .previous = Previous{{7}, "alice", kTime},
                           .checkpoint = "cp"}};
}
constexpr char kGrantText[] =
    "fence: 8 attempt: 3 owner: 'bob' fingerprint: 'fp' reserve_time TIME ";

TEST(InspectResponse, OfAnAbsentKey) {
  ExpectSame(InspectResponseOf(AnswerOf(Inspected{}), true),
             "server_time TIME record {state: STATE_ABSENT}");
}

TEST(InspectResponse, OfAPendingKey) {
  ExpectSame(
      InspectResponseOf(AnswerOf(Inspected{State::kPending, APending(), kTime, kTime}), true),
      std::string("server_time TIME record {state: STATE_PENDING ") + kGrantText +
          "expire_time TIME lease_expire_time TIME on_lapse: ON_LAPSE_REGRANT checkpoint: 'cp' "
          "previous {fence: 7 owner: 'alice' lapse_time TIME checkpoint: 'cp'}}");
}

TEST(InspectResponse, OfAHeldKeyHasNoExpiry) {
  Record record = APending();
  std::get<Pending>(record.phase).on_lapse = OnLapse::kHold;
  std::get<Pending>(record.phase).previous.reset();
  ExpectSame(
      InspectResponseOf(AnswerOf(Inspected{State::kLapsed, record, kTime, std::nullopt}), false),
      std::string("server_time TIME record {state: STATE_LAPSED ") + kGrantText +
          "lease_expire_time TIME on_lapse: ON_LAPSE_HOLD checkpoint: 'cp'}");
}

TEST(InspectResponse, OfACommittedKey) {
  Record record = APending();
  record.phase = Committed{kTime, kTime, true, StoredResult(AResult())};
  const Answer answer = AnswerOf(Inspected{State::kCommitted, record, std::nullopt, kTime});
  const std::string without = std::string("server_time TIME record {state: STATE_COMMITTED ") +
                              kGrantText + "expire_time TIME commit_time TIME late: true";
  ExpectSame(InspectResponseOf(answer, false), without + "}");
  ExpectSame(InspectResponseOf(answer, true), without + " result {" + kResultText + "}}");
}

TEST(InspectResponse, NeverHasASecret) {
  const std::string bytes =
      InspectResponseOf(AnswerOf(Inspected{State::kPending, APending(), kTime, kTime}), true)
          .SerializeAsString();
  EXPECT_EQ(bytes.find("secret"), std::string::npos);
  EXPECT_EQ(bytes.find(kToken.ToText()), std::string::npos);
}

TEST(Timestamps, BeforeTheEpochHavePositiveNanos) {
  const Answer answer{ExtendDone{absl::UnixEpoch() - absl::Microseconds(1)}, kTime, {}};
  ExpectSame(ExtendResponseOf(answer), "lease_expire_time {seconds: -1 nanos: 999999000}");
}

TEST(CallStatusOf, CountsEveryReply) {
  const std::pair<Reply, CallStatus> rows[] = {
      {Fresh{}, CallStatus::kFresh},           {Replayed{}, CallStatus::kReplayed},
      {Conflict{}, CallStatus::kConflict},     {Mismatch{}, CallStatus::kMismatch},
      {Unresolved{}, CallStatus::kUnresolved}, {CommitDone{}, CallStatus::kOk},
      {ReleaseDone{}, CallStatus::kOk},        {ExtendDone{}, CallStatus::kOk},
      {Inspected{}, CallStatus::kOk},          {Refused{}, CallStatus::kError},
  };
  for (const auto& [reply, status] : rows) {
    EXPECT_EQ(static_cast<int>(CallStatusOf(reply)), static_cast<int>(status))
        << testing::PrintToString(reply);
  }
}

}  // namespace
}  // namespace onced
