// What Validator accepts and refuses: the bounds of section 5 of docs/protocol.md.
#include "server/rpc/validate.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "server/base/bytes.h"
#include "server/rpc/errors.h"
#include "tests/support/printers.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Policy NarrowPolicy() {
  Policy policy;
  policy.lease = {absl::Seconds(1), absl::Seconds(10), absl::Seconds(5)};
  policy.wait = {absl::ZeroDuration(), absl::Seconds(3), absl::Seconds(2)};
  policy.body_bytes_max = 4;
  return policy;
}

class ValidatorTest : public testing::Test {
 protected:
  const PolicyTable policies_{{{"narrow", NarrowPolicy()}}, Policy{}};
  const Caller caller_ = Caller::Anyone();
  const Validator validator_{policies_, caller_};
};

void Set(google::protobuf::Duration& to, std::int64_t seconds, std::int32_t nanos) {
  to.set_seconds(seconds);
  to.set_nanos(nanos);
}

template <typename Message>
Message Good() {
  Message message;
  message.set_namespace_("ns");
  message.set_key("k");
  return message;
}
template <typename Message>
Message GoodWithToken() {
  Message message = Good<Message>();
  message.set_token("t");
  return message;
}

std::vector<std::pair<std::string, std::string>> ViolationsOf(const Checked& checked) {
  std::vector<std::pair<std::string, std::string>> violations;
  const auto* error = std::get_if<google::rpc::Status>(&checked);
  if (error == nullptr) return violations;
  google::rpc::BadRequest bad;
  for (const auto& detail : error->details()) {
    if (!detail.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) {
      violations.emplace_back(violation.field(), violation.description());
    }
  }
  return violations;
}

template <typename Op>
const Op& OpOf(const Checked& checked) {
  return std::get<Op>(std::get<Request>(checked).operation);
}

std::string Repeat(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// A row is accepted, or refused for one field.
template <typename Message>
struct Row {
  const char* name;
  std::function<void(Message&)> change;
  const char* field = "";  // That is refused.
  const char* says = "";
};

template <typename Message>
void Try(const Validator& validator, const Message& good, const std::vector<Row<Message>>& rows) {
  for (const Row<Message>& row : rows) {
    SCOPED_TRACE(row.name);
    Message message = good;
    row.change(message);
    const Checked checked = validator.Check(message);
    if (*row.field == '\0') {
      EXPECT_TRUE(std::holds_alternative<Request>(checked))
          << testing::PrintToString(ViolationsOf(checked));
    } else {
      EXPECT_THAT(ViolationsOf(checked), ElementsAre(Pair(row.field, HasSubstr(row.says))));
    }
  }
}

// ---- What all operations have ----

template <typename Message>
std::vector<Row<Message>> KeyRows() {
  return {
      {"namespace_64", [](auto& m) { m.set_namespace_(std::string(64, 'n')); }},
      {"namespace_65", [](auto& m) { m.set_namespace_(std::string(65, 'n')); }, "namespace", "64"},
      {"namespace_empty", [](auto& m) { m.clear_namespace_(); }, "namespace", "required"},
      {"namespace_all_kinds", [](auto& m) { m.set_namespace_("0A.z_-9"); }},
      {"namespace_first_dot", [](auto& m) { m.set_namespace_(".a"); }, "namespace", "begin"},
      {"namespace_first_dash", [](auto& m) { m.set_namespace_("-a"); }, "namespace", "begin"},
      {"namespace_first_underscore", [](auto& m) { m.set_namespace_("_a"); }, "namespace", "begin"},
      {"namespace_space", [](auto& m) { m.set_namespace_("a b"); }, "namespace", "A-Za-z0-9"},
      {"namespace_slash", [](auto& m) { m.set_namespace_("a/b"); }, "namespace", "A-Za-z0-9"},
      {"namespace_nul", [](auto& m) { m.set_namespace_(std::string("a\0b", 3)); }, "namespace",
       "A-Za-z0-9"},
      {"namespace_umlaut", [](auto& m) { m.set_namespace_("aä"); }, "namespace", "A-Za-z0-9"},
      {"namespace_all_wrong", [](auto& m) { m.set_namespace_("-" + std::string(70, ' ')); },
       "namespace", ""},
      {"key_1", [](auto& m) { m.set_key("x"); }},
      {"key_256", [](auto& m) { m.set_key(std::string(256, 'k')); }},
      {"key_257", [](auto& m) { m.set_key(std::string(257, 'k')); }, "key", "256"},
      {"key_empty", [](auto& m) { m.clear_key(); }, "key", "required"},
      {"key_2_byte_characters_256", [](auto& m) { m.set_key(Repeat("ä", 128)); }},
      {"key_2_byte_characters_257", [](auto& m) { m.set_key(Repeat("ä", 128) + "x"); }, "key",
       "257"},
      {"key_4_byte_characters_256", [](auto& m) { m.set_key(Repeat("🔑", 64)); }},
      {"key_4_byte_characters_257", [](auto& m) { m.set_key("x" + Repeat("🔑", 64)); }, "key",
       "257"},
      {"key_nul", [](auto& m) { m.set_key(std::string("a\0", 2)); }, "key", "at byte 1"},
      {"key_newline", [](auto& m) { m.set_key("a\nb"); }, "key", "at byte 1"},
      {"key_1f", [](auto& m) { m.set_key("\x1f"); }, "key", "at byte 0"},
      {"key_space", [](auto& m) { m.set_key(" "); }},
      {"key_tilde", [](auto& m) { m.set_key("~"); }},
      {"key_7f", [](auto& m) { m.set_key("ab\x7f"); }, "key", "at byte 2"},
      {"key_u0080", [](auto& m) { m.set_key("\xc2\x80"); }, "key", "at byte 0"},
      {"key_u0085", [](auto& m) { m.set_key("ä\xc2\x85"); }, "key", "at byte 2"},
      {"key_u009f", [](auto& m) { m.set_key("\xc2\x9f"); }, "key", "at byte 0"},
      {"key_u00a0", [](auto& m) { m.set_key("\xc2\xa0"); }},
      {"key_9f_within_a_character", [](auto& m) { m.set_key("\xe0\xa0\x9f"); }},
      {"key_line_separator", [](auto& m) { m.set_key("\xe2\x80\xa8"); }},
      {"key_long_and_with_controls", [](auto& m) { m.set_key(std::string(300, '\n')); }, "key", ""},
  };
}

TEST_F(ValidatorTest, NamespaceAndKeyOfReserve) {
  Try(validator_, Good<v1::ReserveRequest>(), KeyRows<v1::ReserveRequest>());
}
TEST_F(ValidatorTest, NamespaceAndKeyOfCommit) {
  Try(validator_, GoodWithToken<v1::CommitRequest>(), KeyRows<v1::CommitRequest>());
}
TEST_F(ValidatorTest, NamespaceAndKeyOfRelease) {
  Try(validator_, GoodWithToken<v1::ReleaseRequest>(), KeyRows<v1::ReleaseRequest>());
}
TEST_F(ValidatorTest, NamespaceAndKeyOfExtend) {
  Try(validator_, GoodWithToken<v1::ExtendRequest>(), KeyRows<v1::ExtendRequest>());
}
TEST_F(ValidatorTest, NamespaceAndKeyOfInspect) {
  Try(validator_, Good<v1::InspectRequest>(), KeyRows<v1::InspectRequest>());
}

template <typename Message>
std::vector<Row<Message>> TokenRows() {
  return {
      {"token_1", [](auto& m) { m.set_token("t"); }},
      {"token_128", [](auto& m) { m.set_token(std::string(128, 't')); }},
      {"token_129", [](auto& m) { m.set_token(std::string(129, 't')); }, "token", "128"},
      {"token_empty", [](auto& m) { m.clear_token(); }, "token", "required"},
      {"token_garbage", [](auto& m) { m.set_token("not a token\n"); }},
  };
}

TEST_F(ValidatorTest, Tokens) {
  Try(validator_, GoodWithToken<v1::CommitRequest>(), TokenRows<v1::CommitRequest>());
  Try(validator_, GoodWithToken<v1::ReleaseRequest>(), TokenRows<v1::ReleaseRequest>());
  Try(validator_, GoodWithToken<v1::ExtendRequest>(), TokenRows<v1::ExtendRequest>());
}

// ---- Reserve ----

TEST_F(ValidatorTest, Reserve) {
  using M = v1::ReserveRequest;
  const auto lease = [](std::int64_t seconds, std::int32_t nanos) {
    return [=](M& m) { Set(*m.mutable_lease_ttl(), seconds, nanos); };
  };
  const auto wait = [](std::int64_t seconds, std::int32_t nanos) {
    return [=](M& m) { Set(*m.mutable_wait_timeout(), seconds, nanos); };
  };
  Try<M>(validator_, Good<M>(),
         {
             {"fingerprint_128", [](M& m) { m.set_fingerprint(std::string(128, 'f')); }},
             {"fingerprint_129", [](M& m) { m.set_fingerprint(std::string(129, 'f')); },
              "fingerprint", "128"},
             {"request_id_64", [](M& m) { m.set_request_id(std::string(64, 'r')); }},
             {"request_id_65", [](M& m) { m.set_request_id(std::string(65, 'r')); }, "request_id",
              "64"},
             {"owner_128", [](M& m) { m.set_owner(std::string(128, 'o')); }},
             {"owner_129", [](M& m) { m.set_owner(std::string(129, 'o')); }, "owner", "128"},
             {"lease_100ms", lease(0, 100'000'000)},
             {"lease_below_100ms", lease(0, 99'999'999), "lease_ttl", "100ms"},
             {"lease_zero", lease(0, 0), "lease_ttl", "100ms"},
             {"lease_negative", lease(-1, 0), "lease_ttl", "100ms"},
             {"lease_24h", lease(86'400, 0)},
             {"lease_above_24h", lease(86'400, 1), "lease_ttl", "24h"},
             {"lease_huge", lease(315'576'000'000, 999'999'999), "lease_ttl", "24h"},
             {"lease_out_of_range", lease(315'576'000'001, 0), "lease_ttl", "Duration"},
             {"lease_max_int", lease(INT64_MAX, INT32_MAX), "lease_ttl", "Duration"},
             {"lease_min_int", lease(INT64_MIN, INT32_MIN), "lease_ttl", "Duration"},
             {"lease_nanos_too_many", lease(1, 1'000'000'000), "lease_ttl", "Duration"},
             {"lease_signs_differ", lease(1, -1), "lease_ttl", "Duration"},
             {"wait_zero", wait(0, 0)},
             {"wait_60s", wait(60, 0)},
             {"wait_above_60s", wait(60, 1), "wait_timeout", "1m"},
             {"wait_61s", wait(61, 0), "wait_timeout", "1m"},
             {"wait_negative", wait(0, -1), "wait_timeout", "0"},
             {"wait_signs_differ", wait(-1, 1), "wait_timeout", "Duration"},
         });
}

TEST_F(ValidatorTest, ReserveTakesThePolicysDefaults) {
  v1::ReserveRequest request = Good<v1::ReserveRequest>();
  request.set_namespace_("narrow");
  const Checked checked = validator_.Check(request);
  EXPECT_EQ(OpOf<ReserveOp>(checked).lease_ttl, absl::Seconds(5));
  EXPECT_EQ(OpOf<ReserveOp>(checked).wait_timeout, absl::Seconds(2));
  EXPECT_EQ(std::get<Request>(checked).policy, policies_.Find("narrow"));
}

TEST_F(ValidatorTest, ReserveTakesEveryField) {
  v1::ReserveRequest request = Good<v1::ReserveRequest>();
  request.set_fingerprint("f");
  request.set_request_id("r");
  request.set_owner("o");
  Set(*request.mutable_lease_ttl(), 1, 500'000'000);
  Set(*request.mutable_wait_timeout(), 2, 0);
  const Checked checked = validator_.Check(request);
  EXPECT_EQ(std::get<Request>(checked).key, (RecordKey{"ns", "k"}));
  EXPECT_EQ(std::get<Request>(checked).policy, policies_.Find("unlisted"));
  const auto& op = OpOf<ReserveOp>(checked);
  EXPECT_EQ(op.fingerprint, "f");
  EXPECT_EQ(op.request_id, "r");
  EXPECT_EQ(op.owner, "o");
  EXPECT_EQ(op.lease_ttl, absl::Milliseconds(1'500));
  EXPECT_EQ(op.wait_timeout, absl::Seconds(2));
}

TEST_F(ValidatorTest, APolicysBoundIsNamed) {
  v1::ReserveRequest request = Good<v1::ReserveRequest>();
  request.set_namespace_("narrow");
  Set(*request.mutable_lease_ttl(), 10, 1);
  Set(*request.mutable_wait_timeout(), 4, 0);
  EXPECT_THAT(ViolationsOf(validator_.Check(request)),
              ElementsAre(Pair("lease_ttl", HasSubstr("from 1s to 10s")),
                          Pair("wait_timeout", HasSubstr("from 0 to 3s"))));
}

TEST_F(ValidatorTest, AllWrongFieldsAreNamedAtOnce) {
  v1::ReserveRequest request;
  request.set_namespace_("!");
  request.set_key("\n");
  request.set_fingerprint(std::string(129, 'f'));
  request.set_request_id(std::string(65, 'r'));
  request.set_owner(std::string(129, 'o'));
  Set(*request.mutable_lease_ttl(), -1, 0);
  Set(*request.mutable_wait_timeout(), 61, 0);
  std::vector<std::string> fields;
  for (const auto& [field, says] : ViolationsOf(validator_.Check(request))) fields.push_back(field);
  EXPECT_THAT(fields, ElementsAre("namespace", "key", "fingerprint", "request_id", "owner",
                                  "lease_ttl", "wait_timeout"));
}

// ---- Commit ----

v1::CommitRequest CommitWithHeaders(int count, std::size_t name_bytes, std::size_t value_bytes) {
  v1::CommitRequest request = GoodWithToken<v1::CommitRequest>();
  for (int i = 0; i < count; ++i) {
    v1::Header& header = *request.mutable_result()->add_headers();
    header.set_name(std::string(name_bytes, 'n'));
    header.set_value(std::string(value_bytes, 'v'));
  }
  return request;
}

TEST_F(ValidatorTest, HeadersThatDoNotFitAreDroppedFromTheFirstOn) {
  struct HeaderRow {
    const char* name;
    v1::CommitRequest request;
    std::size_t kept;
    bool omitted;
  };
  v1::CommitRequest small_last = CommitWithHeaders(1, 1, 16 << 10);
  small_last.mutable_result()->add_headers()->set_name("s");
  const HeaderRow rows[] = {
      {"64", CommitWithHeaders(64, 1, 1), 64, false},
      {"65", CommitWithHeaders(65, 1, 1), 64, true},
      {"16_kib", CommitWithHeaders(16, 24, 1'000), 16, false},
      {"16_kib_and_1", CommitWithHeaders(1, 1, 16 << 10), 0, true},
      {"nothing_after_the_first_that_does_not_fit", small_last, 0, true},
  };
  for (const HeaderRow& row : rows) {
    SCOPED_TRACE(row.name);
    const Checked checked = validator_.Check(row.request);
    const Result& result = *OpOf<CommitOp>(checked).result;
    EXPECT_EQ(result.headers.size(), row.kept);
    EXPECT_EQ(result.headers_omitted, row.omitted);
  }
}

TEST_F(ValidatorTest, ABodyOverThePolicysBoundIsReplacedByItsDigest) {
  v1::CommitRequest request = GoodWithToken<v1::CommitRequest>();
  request.set_namespace_("narrow");
  for (const std::string body : {"1234", "12345"}) {
    request.mutable_result()->set_body(body);
    const Checked checked = validator_.Check(request);
    const Result& result = *OpOf<CommitOp>(checked).result;
    EXPECT_EQ(result.body_omitted, body.size() > 4);
    EXPECT_EQ(result.body, body.size() > 4 ? "" : body);
    EXPECT_EQ(result.body_size, static_cast<std::int64_t>(body.size()));
    EXPECT_EQ(result.body_sha256, Sha256(body));
  }
}

TEST_F(ValidatorTest, ClaimsAboutABodyThatIsThereAreNotRead) {
  v1::CommitRequest request = GoodWithToken<v1::CommitRequest>();
  request.mutable_result()->set_body("abc");
  request.mutable_result()->set_body_size(-99);
  request.mutable_result()->set_body_sha256("wrong");
  request.mutable_result()->set_headers_omitted(true);
  const Checked checked = validator_.Check(request);
  const Result& result = *OpOf<CommitOp>(checked).result;
  EXPECT_EQ(result.body_size, 3);
  EXPECT_EQ(result.body_sha256, Sha256("abc"));
  EXPECT_FALSE(result.headers_omitted);
}

TEST_F(ValidatorTest, ACallerMayOmitTheBodyItself) {
  using M = v1::CommitRequest;
  M good = GoodWithToken<M>();
  good.mutable_result()->set_body_omitted(true);
  good.mutable_result()->set_body_size(5LL << 30);
  good.mutable_result()->set_body_sha256(std::string(32, '\x99'));
  const Checked checked = validator_.Check(good);
  EXPECT_TRUE(OpOf<CommitOp>(checked).result->body_omitted);
  EXPECT_EQ(OpOf<CommitOp>(checked).result->body_size, 5LL << 30);
  EXPECT_EQ(OpOf<CommitOp>(checked).result->body_sha256, std::string(32, '\x99'));
  Try<M>(
      validator_, good,
      {
          {"size_zero", [](M& m) { m.mutable_result()->set_body_size(0); }},
          {"size_negative", [](M& m) { m.mutable_result()->set_body_size(-1); }, "result.body_size",
           "negative"},
          {"with_a_body", [](M& m) { m.mutable_result()->set_body("x"); }, "result.body", "empty"},
          {"digest_31", [](M& m) { m.mutable_result()->mutable_body_sha256()->pop_back(); },
           "result.body_sha256", "32"},
          {"digest_33", [](M& m) { m.mutable_result()->mutable_body_sha256()->push_back('x'); },
           "result.body_sha256", "32"},
          {"digest_missing", [](M& m) { m.mutable_result()->clear_body_sha256(); },
           "result.body_sha256", "32"},
      });
}

TEST_F(ValidatorTest, ARetentionIsNeverRefused) {
  struct RetentionRow {
    std::int64_t seconds;
    std::int32_t nanos;
    absl::Duration want;
  };
  const RetentionRow rows[] = {
      {60, 0, absl::Seconds(60)},
      {0, 0, absl::ZeroDuration()},
      {-5, 0, absl::Seconds(-5)},
      {INT64_MAX, 0, absl::InfiniteDuration()},
      {INT64_MIN, 0, -absl::InfiniteDuration()},
      {1, INT32_MAX, absl::InfiniteDuration()},
      {0, INT32_MIN, -absl::InfiniteDuration()},
  };
  for (const RetentionRow& row : rows) {
    v1::CommitRequest request = GoodWithToken<v1::CommitRequest>();
    Set(*request.mutable_retention_ttl(), row.seconds, row.nanos);
    const Checked checked = validator_.Check(request);
    ASSERT_TRUE(std::holds_alternative<Request>(checked)) << row.seconds;
    EXPECT_EQ(OpOf<CommitOp>(checked).retention_ttl, row.want)
        << row.seconds << "s " << row.nanos << "ns";
  }
  EXPECT_EQ(OpOf<CommitOp>(validator_.Check(GoodWithToken<v1::CommitRequest>())).retention_ttl,
            std::nullopt);
}

// ---- Extend ----

TEST_F(ValidatorTest, Extend) {
  using M = v1::ExtendRequest;
  Try<M>(
      validator_, GoodWithToken<M>(),
      {
          {"checkpoint_64_kib", [](M& m) { m.set_checkpoint(std::string(64 << 10, 'c')); }},
          {"checkpoint_64_kib_and_1",
           [](M& m) { m.set_checkpoint(std::string((64 << 10) + 1, 'c')); }, "checkpoint", "65536"},
          {"lease_too_short", [](M& m) { Set(*m.mutable_lease_ttl(), 0, 1); }, "lease_ttl",
           "100ms"},
      });
}

TEST_F(ValidatorTest, ACheckpointMayBeAbsentOrEmpty) {
  v1::ExtendRequest request = GoodWithToken<v1::ExtendRequest>();
  EXPECT_EQ(OpOf<ExtendOp>(validator_.Check(request)).checkpoint, std::nullopt);
  request.set_checkpoint("");
  EXPECT_EQ(OpOf<ExtendOp>(validator_.Check(request)).checkpoint, "");
}

// ---- Namespaces that may not be used ----

TEST(ValidatorOfListedOnes, AForeignNamespaceIsRefusedBeforeAnythingElse) {
  const PolicyTable policies({{"mine", Policy{}}}, std::nullopt);
  const Caller caller = Caller::Anyone();
  const Validator validator(policies, caller);
  v1::ReserveRequest request = Good<v1::ReserveRequest>();
  for (const char* key : {"k", "\n", ""}) {
    request.set_key(key);
    const Checked checked = validator.Check(request);
    const auto* error = std::get_if<google::rpc::Status>(&checked);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), grpc::PERMISSION_DENIED);
    EXPECT_EQ(ReasonOf(*error), "NAMESPACE_NOT_ALLOWED");
  }
  request.set_namespace_("mine");
  request.set_key("k");
  EXPECT_TRUE(std::holds_alternative<Request>(validator.Check(request)));
  request.set_namespace_("/");
  EXPECT_THAT(ViolationsOf(validator.Check(request)),
              ElementsAre(Pair("namespace", HasSubstr(""))));
}

// ---- In a batch or session ----

// Of all operations, what their right is, and that a refusal is the same bytes whatever the
// namespace and the rest.
TEST(ValidatorOfACaller, WhoMayNotIsRefusedBeforeAnythingElse) {
  const PolicyTable policies({{"mine", Policy{}}, {"other", Policy{}}}, std::nullopt);
  const AccessList access(
      {{"user", {"mine", "gone"}, {.use = true}}, {"reader", {"mine", "gone"}, {.inspect = true}}});
  const Caller user("user", access.GrantsOf({{"user"}}));
  const Caller reader("reader", access.GrantsOf({{"reader"}}));
  const auto outcome = [&](const Caller& caller, const char* name_space, const char* key,
                           bool inspects) -> std::string {
    const Validator validator(policies, caller);
    v1::Operation operation;
    if (inspects) {
      *operation.mutable_inspect() = Good<v1::InspectRequest>();
      operation.mutable_inspect()->set_namespace_(name_space);
      operation.mutable_inspect()->set_key(key);
    } else {
      *operation.mutable_commit() = GoodWithToken<v1::CommitRequest>();
      operation.mutable_commit()->set_namespace_(name_space);
      operation.mutable_commit()->set_key(key);
    }
    const Checked checked = validator.Check(operation, 0, Validator::Waiting::kRefused);
    const auto* error = std::get_if<google::rpc::Status>(&checked);
    return error == nullptr ? "" : error->SerializeAsString();
  };
  const std::string denied = ErrorOf(Refused{Refusal::kNamespaceNotAllowed}).SerializeAsString();
  EXPECT_EQ(outcome(user, "mine", "k", false), "");
  EXPECT_EQ(outcome(reader, "mine", "k", true), "");
  for (const char* key : {"k", "", "\n"}) {
    SCOPED_TRACE(key);
    EXPECT_EQ(outcome(user, "mine", key, true), denied);
    EXPECT_EQ(outcome(reader, "mine", key, false), denied);
    for (const char* name_space : {"other", "gone", "nobodys"}) {
      EXPECT_EQ(outcome(user, name_space, key, false), denied) << name_space;
      EXPECT_EQ(outcome(reader, name_space, key, true), denied) << name_space;
    }
  }
}

constexpr auto kRefused = Validator::Waiting::kRefused;
constexpr auto kAllowed = Validator::Waiting::kAllowed;

TEST_F(ValidatorTest, AnOperationsErrorSaysWhichItIs) {
  v1::Operation reserve;
  *reserve.mutable_reserve() = Good<v1::ReserveRequest>();
  reserve.mutable_reserve()->clear_key();
  EXPECT_THAT(ViolationsOf(validator_.Check(reserve, 7, kRefused)),
              ElementsAre(Pair("operations[7].reserve.key", HasSubstr("required"))));
  v1::Operation commit;
  *commit.mutable_commit() = GoodWithToken<v1::CommitRequest>();
  commit.mutable_commit()->mutable_result()->set_body_omitted(true);
  EXPECT_THAT(ViolationsOf(validator_.Check(commit, 0, kRefused)),
              ElementsAre(Pair("operations[0].commit.result.body_sha256", HasSubstr("32"))));
  v1::Operation release;
  *release.mutable_release() = Good<v1::ReleaseRequest>();
  EXPECT_THAT(ViolationsOf(validator_.Check(release, 1, kRefused)),
              ElementsAre(Pair("operations[1].release.token", HasSubstr("required"))));
  v1::Operation extend;
  *extend.mutable_extend() = Good<v1::ExtendRequest>();
  EXPECT_THAT(ViolationsOf(validator_.Check(extend, 2, kRefused)),
              ElementsAre(Pair("operations[2].extend.token", HasSubstr("required"))));
  v1::Operation inspect;
  inspect.mutable_inspect()->set_namespace_("ns");
  EXPECT_THAT(ViolationsOf(validator_.Check(inspect, 3, kRefused)),
              ElementsAre(Pair("operations[3].inspect.key", HasSubstr("required"))));
  EXPECT_THAT(ViolationsOf(validator_.Check(v1::Operation{}, 4, kRefused)),
              ElementsAre(Pair("operations[4]", HasSubstr("one of"))));
}

TEST_F(ValidatorTest, NoReserveInABatchWaits) {
  v1::Operation operation;
  v1::ReserveRequest& reserve = *operation.mutable_reserve();
  reserve = Good<v1::ReserveRequest>();
  reserve.set_namespace_("narrow");  // Where a Reserve waits by default.
  const Checked unset = validator_.Check(operation, 0, kRefused);
  EXPECT_EQ(OpOf<ReserveOp>(unset).wait_timeout, absl::ZeroDuration());
  Set(*reserve.mutable_wait_timeout(), 0, 0);
  const Checked zero = validator_.Check(operation, 0, kRefused);
  EXPECT_EQ(OpOf<ReserveOp>(zero).wait_timeout, absl::ZeroDuration());
  for (const auto& [seconds, nanos] : {std::pair{1, 0}, std::pair{0, 1}, std::pair{-1, 0}}) {
    Set(*reserve.mutable_wait_timeout(), seconds, nanos);
    EXPECT_THAT(ViolationsOf(validator_.Check(operation, 0, kRefused)),
                ElementsAre(Pair("operations[0].reserve.wait_timeout", HasSubstr(""))))
        << seconds;
  }
}

TEST_F(ValidatorTest, AReserveInASessionWaitsAsByItself) {
  v1::Operation operation;
  v1::ReserveRequest& reserve = *operation.mutable_reserve();
  reserve = Good<v1::ReserveRequest>();
  reserve.set_namespace_("narrow");
  for (const std::optional<int> seconds : {std::optional<int>(), std::optional(0)}) {
    if (seconds.has_value()) Set(*reserve.mutable_wait_timeout(), *seconds, 0);
    const Checked alone = validator_.Check(reserve);
    const Checked among = validator_.Check(operation, 0, kAllowed);
    EXPECT_EQ(OpOf<ReserveOp>(among).wait_timeout, OpOf<ReserveOp>(alone).wait_timeout);
  }
  Set(*reserve.mutable_wait_timeout(), -1, 0);
  EXPECT_THAT(ViolationsOf(validator_.Check(operation, 6, kAllowed)),
              ElementsAre(Pair("operations[6].reserve.wait_timeout", HasSubstr("must be from"))));
}

}  // namespace
}  // namespace onced
