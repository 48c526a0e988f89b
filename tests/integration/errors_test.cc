// The error table of section 5 of docs/protocol.md: every row that a caller can
// bring about, with all that it carries.
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/async_reserve.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class Errors : public testing::Test {
 protected:
  ServerProcess server_{{.config = R"(
unlisted_namespaces: deny
namespaces:
  tests: {}
  strict:
    lease: {min: 1s, max: 10s, default: 5s}
    wait: {max: 3s}
)"}};
  Api api_{server_.Connect()};
};

// What an error of a rule carries.
void ExpectRule(const Error& error, grpc::StatusCode code, const std::string& reason,
                const std::string& state, std::int64_t fence) {
  EXPECT_EQ(error.code, code);
  EXPECT_EQ(error.reason, reason);
  EXPECT_EQ(error.domain, "onced");
  EXPECT_THAT(error.metadata,
              UnorderedElementsAre(Pair("state", state), Pair("fence", std::to_string(fence))));
  EXPECT_EQ(error.retry_delay, std::nullopt) << "a retry would not help";
  EXPECT_THAT(error.violations, IsEmpty());
  EXPECT_EQ(error.details, 1);
  EXPECT_NE(error.message, "");
}

// ---- ABORTED ----

TEST_F(Errors, AnotherTokenIsSupersededInEveryState) {
  const v1::Reservation pending = api_.Grant("pending");
  const v1::Reservation lapsed = api_.Grant("lapsed", WithLease(absl::Milliseconds(100)));
  const v1::Reservation committed = api_.Grant("committed");
  api_.Commit("committed", committed.token(), {});
  api_.AwaitState("lapsed", v1::STATE_LAPSED);
  // Of a grant that was released, and so is as good as a real one.
  const v1::Reservation other = api_.Grant("other");
  api_.Release("other", other.token());

  struct Row {
    std::string key;
    std::string state;
    std::int64_t fence;
  };
  for (const Row& row :
       {Row{"pending", "PENDING", pending.fence()}, Row{"lapsed", "LAPSED", lapsed.fence()},
        Row{"committed", "COMMITTED", committed.fence()}}) {
    for (const std::string& token : {other.token(), std::string("x"), std::string(128, '0')}) {
      SCOPED_TRACE(row.key + " " + token);
      ExpectRule(api_.Commit(CommitOf(row.key, token, {})).error(), grpc::ABORTED, "SUPERSEDED",
                 row.state, row.fence);
      ExpectRule(api_.Release(ReleaseOf(row.key, token)).error(), grpc::ABORTED, "SUPERSEDED",
                 row.state, row.fence);
      ExpectRule(api_.Extend(ExtendOf(row.key, token)).error(), grpc::ABORTED, "SUPERSEDED",
                 row.state, row.fence);
    }
  }
  EXPECT_EQ(api_.Inspect("pending").state(), v1::STATE_PENDING);
  EXPECT_EQ(api_.Inspect("lapsed").state(), v1::STATE_LAPSED);
  EXPECT_EQ(api_.Inspect("committed").state(), v1::STATE_COMMITTED);
}

// ---- FAILED_PRECONDITION ----

TEST_F(Errors, ACommittedKeyIsNeitherReleasedNorExtendedNorCommittedAnew) {
  const v1::Reservation grant = api_.Grant("k");
  api_.Commit("k", grant.token(), ResultOf(200, "done"));
  ExpectRule(api_.Release(ReleaseOf("k", grant.token())).error(), grpc::FAILED_PRECONDITION,
             "ALREADY_COMMITTED", "COMMITTED", grant.fence());
  ExpectRule(api_.Extend(ExtendOf("k", grant.token())).error(), grpc::FAILED_PRECONDITION,
             "ALREADY_COMMITTED", "COMMITTED", grant.fence());
  ExpectRule(api_.Commit(CommitOf("k", grant.token(), ResultOf(500, "done"))).error(),
             grpc::FAILED_PRECONDITION, "COMMITTED_DIFFERENTLY", "COMMITTED", grant.fence());
  EXPECT_EQ(api_.Reserve("k").replay().result().body(), "done");
}

// ---- NOT_FOUND ----

TEST_F(Errors, AnAbsentKeyIsNotReserved) {
  for (const Error& error : {api_.Commit(CommitOf("never", "token", {})).error(),
                             api_.Extend(ExtendOf("never", "token")).error()}) {
    EXPECT_EQ(error.code, grpc::NOT_FOUND);
    EXPECT_EQ(error.reason, "NOT_RESERVED");
    EXPECT_EQ(error.domain, "onced");
    EXPECT_EQ(error.retry_delay, std::nullopt);
  }
  EXPECT_FALSE(api_.Release("never", "token")) << "nothing to release is no error";
}

TEST_F(Errors, AReleasedKeyIsNotReserved) {
  const v1::Reservation grant = api_.Grant("k");
  api_.Release("k", grant.token());
  EXPECT_EQ(api_.Commit(CommitOf("k", grant.token(), {})).error().reason, "NOT_RESERVED");
}

TEST_F(Errors, AnExpiredKeyIsNotReserved) {
  const v1::Reservation grant = api_.Grant("k");
  v1::CommitRequest commit = CommitOf("k", grant.token(), {});
  *commit.mutable_retention_ttl() = ToProto(absl::Seconds(1));
  ASSERT_TRUE(api_.Commit(commit).ok());
  api_.AwaitState("k", v1::STATE_ABSENT);
  EXPECT_EQ(api_.Commit(commit).error().reason, "NOT_RESERVED");
}

// ---- PERMISSION_DENIED ----

TEST_F(Errors, AForeignNamespaceSaysNothingAboutItsKeys) {
  v1::InspectRequest inspect = InspectOf("k");
  inspect.set_namespace_("foreign");
  const Error inspected = api_.Inspect(inspect).error();
  EXPECT_EQ(inspected.code, grpc::PERMISSION_DENIED);
  EXPECT_EQ(inspected.reason, "NAMESPACE_NOT_ALLOWED");
  EXPECT_EQ(inspected.domain, "onced");
  EXPECT_THAT(inspected.metadata, IsEmpty());

  v1::ReserveRequest reserve = ReserveOf("k");
  reserve.set_namespace_("foreign");
  v1::CommitRequest commit = CommitOf("k", "token", {});
  commit.set_namespace_("foreign");
  v1::ReleaseRequest release = ReleaseOf("k", "token");
  release.set_namespace_("foreign");
  v1::ExtendRequest extend = ExtendOf("k", "token");
  extend.set_namespace_("foreign");
  for (const grpc::Status& status : {api_.Reserve(reserve).status, api_.Commit(commit).status,
                                     api_.Release(release).status, api_.Extend(extend).status}) {
    EXPECT_EQ(status.error_code(), grpc::PERMISSION_DENIED);
    EXPECT_EQ(status.error_details(), api_.Inspect(inspect).status.error_details());
  }
}

TEST(ErrorsAfterAChangeOfConfig, AnExistingKeyAndAMissingOneGetTheSameAnswer) {
  ServerProcess server;
  const v1::Reservation grant = Api(server.Connect()).Grant("exists");
  server.options().config = "unlisted_namespaces: deny\nnamespaces: {other: {}}\n";
  server.Restart();
  Api api(server.Connect());
  const grpc::Status missing = api.Inspect(InspectOf("missing")).status;
  const grpc::Status exists = api.Inspect(InspectOf("exists")).status;
  EXPECT_EQ(exists.error_code(), grpc::PERMISSION_DENIED);
  EXPECT_EQ(exists.error_message(), missing.error_message());
  EXPECT_EQ(exists.error_details(), missing.error_details());
  EXPECT_EQ(api.Commit(CommitOf("exists", grant.token(), {})).status.error_code(),
            grpc::PERMISSION_DENIED);
}

// ---- INVALID_ARGUMENT ----

TEST_F(Errors, AllWrongFieldsAreNamedAtOnceOneViolationEach) {
  v1::ReserveRequest request;
  request.set_namespace_("-" + std::string(70, ' '));
  request.set_key(std::string(300, '\n'));
  request.set_fingerprint(std::string(129, 'f'));
  request.set_request_id(std::string(65, 'r'));
  request.set_owner(std::string(129, 'o'));
  *request.mutable_lease_ttl() = ToProto(absl::Seconds(-1));
  *request.mutable_wait_timeout() = ToProto(absl::Hours(1));
  const Error error = api_.Reserve(request).error();
  EXPECT_EQ(error.code, grpc::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "INVALID_FIELD");
  EXPECT_EQ(error.domain, "onced");
  EXPECT_EQ(error.retry_delay, std::nullopt);
  std::vector<std::string> fields;
  for (const auto& [field, text] : error.violations) {
    fields.push_back(field);
    EXPECT_NE(text, "");
    EXPECT_THAT(text, testing::Not(HasSubstr(" & "))) << field << " has two violations";
  }
  EXPECT_THAT(fields, ElementsAre("fingerprint", "key", "lease_ttl", "namespace", "owner",
                                  "request_id", "wait_timeout"));
  EXPECT_THAT(error.message, HasSubstr("namespace")) << "the message alone helps, too";
}

TEST_F(Errors, APolicysBoundsAreNamed) {
  v1::ReserveRequest request = ReserveOf("k");
  request.set_namespace_("strict");
  *request.mutable_lease_ttl() = ToProto(absl::Milliseconds(999));
  *request.mutable_wait_timeout() = ToProto(absl::Milliseconds(3001));
  const Error error = api_.Reserve(request).error();
  EXPECT_EQ(error.code, grpc::INVALID_ARGUMENT);
  EXPECT_THAT(error.violations,
              ElementsAre(Pair("lease_ttl", testing::AllOf(HasSubstr("1s"), HasSubstr("10s"))),
                          Pair("wait_timeout", HasSubstr("3s"))));
  *request.mutable_lease_ttl() = ToProto(absl::Seconds(10));
  *request.mutable_wait_timeout() = ToProto(absl::Seconds(3));
  EXPECT_EQ(api_.Reserve(request).value().outcome(), v1::OUTCOME_FRESH);
}

TEST_F(Errors, APolicysDefaultLeaseIsTaken) {
  v1::ReserveRequest request = ReserveOf("k");
  request.set_namespace_("strict");
  const v1::ReserveResponse response = api_.Reserve(request).value();
  EXPECT_EQ(ToTime(response.reservation().lease_expire_time()),
            ToTime(response.server_time()) + absl::Seconds(5));
}

TEST_F(Errors, TextThatIsNotUtf8IsNamed) {
  struct Row {
    const char* method;
    int number;
    const char* field;
  };
  const Row rows[] = {
      {"Reserve", 1, "namespace"},  {"Reserve", 2, "key"},   {"Reserve", 3, "fingerprint"},
      {"Reserve", 4, "request_id"}, {"Reserve", 5, "owner"}, {"Commit", 1, "namespace"},
      {"Commit", 2, "key"},         {"Commit", 3, "token"},  {"Release", 2, "key"},
      {"Release", 3, "token"},      {"Extend", 2, "key"},    {"Extend", 3, "token"},
      {"Inspect", 1, "namespace"},  {"Inspect", 2, "key"},
  };
  const std::string good = Field(1, "tests") + Field(2, "k");
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.method) + " " + row.field);
    const grpc::Status status =
        RawCall(api_.channel(), MethodOfApi(row.method), good + Field(row.number, "\xc3(")).status;
    const Error error = ErrorOf(status);
    EXPECT_EQ(error.code, grpc::INVALID_ARGUMENT);
    EXPECT_EQ(error.reason, "INVALID_FIELD");
    EXPECT_THAT(error.violations, ElementsAre(Pair(row.field, HasSubstr("UTF-8"))));
  }
}

TEST_F(Errors, TextThatIsNotUtf8IsNamedAtDepth) {
  const std::string header = Field(2, Field(1, "\x80"));
  const std::string commit = Field(1, "tests") + Field(2, "k") + Field(3, "t") + Field(4, header);
  EXPECT_THAT(ErrorOf(RawCall(api_.channel(), MethodOfApi("Commit"), commit).status).violations,
              ElementsAre(Pair("result.headers[0].name", HasSubstr("UTF-8"))));
  const std::string batch = Field(1, Field(5, Field(2, "k"))) + Field(1, Field(2, commit));
  EXPECT_THAT(ErrorOf(RawCall(api_.channel(), MethodOfApi("Batch"), batch).status).violations,
              ElementsAre(Pair("operations[1].commit.result.headers[0].name", HasSubstr("UTF-8"))));
}

TEST_F(Errors, BytesThatAreNoMessageAreRefused) {
  for (const char* method : {"Reserve", "Commit", "Release", "Extend", "Inspect", "Batch"}) {
    for (const std::string& bytes : {std::string("\xff\xff\xff"), std::string("\x0a\x50no")}) {
      const Error error = ErrorOf(RawCall(api_.channel(), MethodOfApi(method), bytes).status);
      EXPECT_EQ(error.code, grpc::INVALID_ARGUMENT) << method;
      EXPECT_EQ(error.reason, "INVALID_FIELD") << method;
    }
  }
  EXPECT_EQ(api_.Reserve("k").outcome(), v1::OUTCOME_FRESH) << "the server lives on";
}

TEST_F(Errors, UnknownFieldsAreIgnored) {
  const std::string request = Field(1, "tests") + Field(2, "k") + Field(15, "\xff");
  EXPECT_TRUE(RawCall(api_.channel(), MethodOfApi("Reserve"), request).status.ok());
}

// A message's size would be looked at only after it was inflated.
TEST_F(Errors, CompressedMessagesAreRefused) {
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    context.set_deadline(Soon());
    context.set_compression_algorithm(algorithm);
    v1::ReserveResponse response;
    const v1::ReserveRequest request = ReserveOf(std::string(200, 'k'));
    EXPECT_EQ(api_.stub().Reserve(&context, request, &response).error_code(), grpc::UNIMPLEMENTED);
  }
  EXPECT_EQ(api_.Inspect(std::string(200, 'k')).state(), v1::STATE_ABSENT);
}

// ---- RESOURCE_EXHAUSTED ----

TEST(ErrorsOfAFullQueue, ACallIsRefusedWholly) {
  ServerProcess server({.flags = {"--executors", "1", "--queue-max", "1"}});
  Api api(server.Connect());
  const v1::Reservation held = api.Grant("held");
  int next = 0;
  std::string refused;
  Await("a full queue", [&] {
    AsyncReserves reserves;
    const int first = next;
    for (; next < first + 100; ++next) {
      reserves.push_back(
          std::make_unique<AsyncReserve>(api, ReserveOf("k" + std::to_string(next))));
    }
    // What settles a grant has room of its own.
    api.Extend("held", held.token(), absl::Minutes(1));
    for (int i = 0; i < 100; ++i) {
      if (reserves[i]->Get().ok()) continue;
      refused = "k" + std::to_string(first + i);
      const Error error = reserves[i]->Get().error();
      EXPECT_EQ(error.code, grpc::RESOURCE_EXHAUSTED);
      EXPECT_EQ(error.reason, "QUEUE_FULL");
      EXPECT_EQ(error.domain, "onced");
      EXPECT_GT(error.retry_delay.value_or(absl::ZeroDuration()), absl::ZeroDuration());
    }
    return !refused.empty();
  });
  EXPECT_EQ(api.Inspect(refused).state(), v1::STATE_ABSENT) << "nothing was done";
}

// ---- From the transport: without our ErrorInfo ----

TEST_F(Errors, AMessageOver4MibIsTheTransportsRefusal) {
  const v1::Reservation grant = api_.Grant("k");
  const std::string rest = CommitOf("k", grant.token(), {}).SerializeAsString();
  const std::size_t room = (4u << 20) - rest.size() - 8;
  // Field 15 is unknown: what counts is the size of the message alone.
  const auto padded = [&](std::size_t total) {
    std::string message = rest + Field(15, std::string(room, 'x'));
    message += Field(15, std::string(total - message.size() - 2, 'x'));
    return message;
  };
  ASSERT_EQ(padded((4u << 20) + 1).size(), (4u << 20) + 1);
  const Error error =
      ErrorOf(RawCall(api_.channel(), MethodOfApi("Commit"), padded((4u << 20) + 1)).status);
  EXPECT_EQ(error.code, grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.reason, "");
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_PENDING);
  EXPECT_TRUE(RawCall(api_.channel(), MethodOfApi("Commit"), padded(4u << 20)).status.ok());
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_COMMITTED);
}

TEST_F(Errors, AnUnknownMethodIsUnimplemented) {
  EXPECT_EQ(RawCall(api_.channel(), MethodOfApi("Nothing"), "").status.error_code(),
            grpc::UNIMPLEMENTED);
}

}  // namespace
}  // namespace onced::integration
