// Batch, as a caller sees it.
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class Batches : public testing::Test {
 protected:
  Error ErrorAt(const v1::BatchResponse& response, int index) {
    EXPECT_TRUE(response.items(index).has_error()) << response.items(index).ShortDebugString();
    return ErrorOf(response.items(index).error());
  }

  ServerProcess server_{{.config = "unlisted_namespaces: deny\n"
                                   "namespaces:\n"
                                   "  tests: {}\n"
                                   "  waits: {wait: {default: 60s}}\n"}};
  Api api_{server_.Connect()};
};

void Add(v1::BatchRequest& batch, v1::ReserveRequest request) {
  *batch.add_operations()->mutable_reserve() = std::move(request);
}
void Add(v1::BatchRequest& batch, v1::CommitRequest request) {
  *batch.add_operations()->mutable_commit() = std::move(request);
}
void Add(v1::BatchRequest& batch, v1::ReleaseRequest request) {
  *batch.add_operations()->mutable_release() = std::move(request);
}
void Add(v1::BatchRequest& batch, v1::ExtendRequest request) {
  *batch.add_operations()->mutable_extend() = std::move(request);
}
void Add(v1::BatchRequest& batch, v1::InspectRequest request) {
  *batch.add_operations()->mutable_inspect() = std::move(request);
}

TEST_F(Batches, AnswersEachKindOfOperationInItsPlace) {
  const v1::Reservation commit = api_.Grant("commit");
  const v1::Reservation release = api_.Grant("release");
  const v1::Reservation extend = api_.Grant("extend");
  v1::BatchRequest batch;
  Add(batch, ReserveOf("reserve"));
  Add(batch, CommitOf("commit", commit.token(), AwkwardResult()));
  Add(batch, ReleaseOf("release", release.token()));
  Add(batch, ExtendOf("extend", extend.token()));
  Add(batch, InspectOf("absent"));
  const v1::BatchResponse response = api_.Batch(batch).value();
  ASSERT_EQ(response.items_size(), 5);
  EXPECT_EQ(response.items(0).reserve().outcome(), v1::OUTCOME_FRESH);
  EXPECT_TRUE(response.items(0).reserve().has_server_time());
  EXPECT_TRUE(response.items(1).commit().has_commit_time());
  EXPECT_TRUE(response.items(2).release().released());
  EXPECT_GE(ToTime(response.items(3).extend().lease_expire_time()),
            ToTime(extend.lease_expire_time()));
  EXPECT_EQ(response.items(4).inspect().record().state(), v1::STATE_ABSENT);
  EXPECT_EQ(api_.Reserve("commit").replay().result().body(), AwkwardResult().body());
}

TEST_F(Batches, OperationsOnOneKeyRunInTheirOrder) {
  const v1::Reservation grant = api_.Grant("k");
  v1::BatchRequest batch;
  Add(batch, InspectOf("k"));
  Add(batch, ReleaseOf("k", grant.token()));
  Add(batch, InspectOf("k"));
  Add(batch, ReserveOf("k"));
  Add(batch, ReserveOf("k"));
  Add(batch, CommitOf("k", grant.token(), {}));
  const v1::BatchResponse response = api_.Batch(batch).value();
  EXPECT_EQ(response.items(0).inspect().record().state(), v1::STATE_PENDING);
  EXPECT_TRUE(response.items(1).release().released());
  EXPECT_EQ(response.items(2).inspect().record().state(), v1::STATE_ABSENT);
  EXPECT_EQ(response.items(3).reserve().outcome(), v1::OUTCOME_FRESH);
  EXPECT_EQ(response.items(4).reserve().outcome(), v1::OUTCOME_CONFLICT);
  EXPECT_EQ(response.items(4).reserve().holder().fence(),
            response.items(3).reserve().reservation().fence());
  EXPECT_EQ(ErrorAt(response, 5).reason, "SUPERSEDED");
}

TEST_F(Batches, EachOperationFailsByItself) {
  const v1::Reservation grant = api_.Grant("held");
  v1::BatchRequest batch;
  Add(batch, CommitOf("held", "wrong", {}));
  Add(batch, ReserveOf(""));
  Add(batch, ReserveOf("good"));
  v1::ReserveRequest foreign = ReserveOf("k");
  foreign.set_namespace_("foreign");
  Add(batch, foreign);
  batch.add_operations();  // Not set.
  Add(batch, CommitOf("held", "", {}));
  Add(batch, ReleaseOf("held", grant.token()));
  const v1::BatchResponse response = api_.Batch(batch).value();

  const Error superseded = ErrorAt(response, 0);
  EXPECT_EQ(superseded.code, grpc::ABORTED);
  EXPECT_EQ(superseded.reason, "SUPERSEDED");
  EXPECT_EQ(superseded.metadata.at("fence"), std::to_string(grant.fence()));
  EXPECT_EQ(superseded.metadata.at("state"), "PENDING");
  EXPECT_EQ(ErrorAt(response, 1).code, grpc::INVALID_ARGUMENT);
  EXPECT_THAT(ErrorAt(response, 1).violations, ElementsAre(Pair("operations[1].reserve.key", _)));
  EXPECT_EQ(response.items(2).reserve().outcome(), v1::OUTCOME_FRESH) << "not atomic";
  EXPECT_EQ(ErrorAt(response, 3).code, grpc::PERMISSION_DENIED);
  EXPECT_EQ(ErrorAt(response, 3).reason, "NAMESPACE_NOT_ALLOWED");
  EXPECT_THAT(ErrorAt(response, 4).violations, ElementsAre(Pair("operations[4]", _)));
  EXPECT_THAT(ErrorAt(response, 5).violations, ElementsAre(Pair("operations[5].commit.token", _)));
  EXPECT_TRUE(response.items(6).release().released());
}

TEST_F(Batches, TheNumberOfOperationsIsBounded) {
  for (const int count : {0, 1, 1'024, 1'025}) {
    v1::BatchRequest batch;
    for (int i = 0; i < count; ++i) Add(batch, InspectOf("k"));
    const Reply<v1::BatchResponse> reply = api_.Batch(batch);
    if (count >= 1 && count <= 1'024) {
      EXPECT_EQ(reply.value().items_size(), count);
      continue;
    }
    EXPECT_EQ(reply.error().code, grpc::INVALID_ARGUMENT) << count;
    EXPECT_EQ(reply.error().reason, "INVALID_FIELD") << count;
    EXPECT_THAT(reply.error().violations, ElementsAre(Pair("operations", HasSubstr("1024"))))
        << count;
  }
}

TEST_F(Batches, AThousandGrantsAreAllDelivered) {
  v1::BatchRequest batch;
  for (int i = 0; i < 1'024; ++i) Add(batch, ReserveOf("k" + std::to_string(i)));
  const v1::BatchResponse response = api_.Batch(batch).value();
  ASSERT_EQ(response.items_size(), 1'024);
  std::map<std::string, int> tokens;
  for (const v1::BatchItem& item : response.items()) {
    ASSERT_EQ(item.reserve().outcome(), v1::OUTCOME_FRESH);
    ++tokens[item.reserve().reservation().token()];
  }
  EXPECT_EQ(tokens.size(), 1'024);
  EXPECT_EQ(api_.Inspect("k1023").fence(), response.items(1'023).reserve().reservation().fence());
}

TEST_F(Batches, AReserveInABatchDoesNotWait) {
  v1::ReserveRequest waits = ReserveOf("k");
  waits.set_namespace_("waits");
  ASSERT_EQ(api_.Reserve(waits).value().outcome(), v1::OUTCOME_FRESH);
  v1::BatchRequest batch;
  Add(batch, waits);  // Where a Reserve waits by default.
  *waits.mutable_wait_timeout() = ToProto(absl::ZeroDuration());
  Add(batch, waits);
  *waits.mutable_wait_timeout() = ToProto(absl::Milliseconds(1));
  Add(batch, waits);
  const v1::BatchResponse response = api_.Batch(batch).value();
  EXPECT_EQ(response.items(0).reserve().outcome(), v1::OUTCOME_CONFLICT);
  EXPECT_EQ(response.items(1).reserve().outcome(), v1::OUTCOME_CONFLICT);
  EXPECT_EQ(ErrorAt(response, 2).code, grpc::INVALID_ARGUMENT);
  EXPECT_THAT(ErrorAt(response, 2).violations,
              ElementsAre(Pair("operations[2].reserve.wait_timeout", _)));
}

TEST_F(Batches, TheReplyStaysUnder4Mib) {
  constexpr int kReplays = 8;
  const std::string body(1 << 20, 'b');
  for (int i = 0; i < kReplays; ++i) {
    const std::string key = "k" + std::to_string(i);
    api_.Commit(key, api_.Grant(key).token(), ResultOf(200, body));
  }
  v1::BatchRequest batch;
  for (int i = 0; i < kReplays; ++i) Add(batch, ReserveOf("k" + std::to_string(i)));
  for (int i = 0; i < kReplays; ++i) {
    v1::InspectRequest inspect = InspectOf("k" + std::to_string(i));
    inspect.set_include_result(true);
    Add(batch, inspect);
  }
  Add(batch, ReserveOf("fresh"));
  const v1::BatchResponse response = api_.Batch(batch).value();
  EXPECT_LT(response.ByteSizeLong(), 4u << 20);
  ASSERT_EQ(response.items_size(), 2 * kReplays + 1);
  int whole = 0;
  for (int i = 0; i < 2 * kReplays; ++i) {
    const v1::BatchItem& item = response.items(i);
    if (item.has_error()) {
      const Error error = ErrorAt(response, i);
      EXPECT_EQ(error.code, grpc::RESOURCE_EXHAUSTED);
      EXPECT_EQ(error.reason, "REPLY_TOO_LARGE");
      EXPECT_NE(error.retry_delay, std::nullopt);
      continue;
    }
    const v1::Result& result =
        item.has_reserve() ? item.reserve().replay().result() : item.inspect().record().result();
    EXPECT_EQ(result.body(), body) << i;
    ++whole;
  }
  EXPECT_EQ(whole, 3) << "as many as fit";
  EXPECT_EQ(response.items(2 * kReplays).reserve().outcome(), v1::OUTCOME_FRESH)
      << "a grant is always delivered";
  EXPECT_EQ(api_.Reserve("k7").replay().result().body(), body) << "by itself it is";
}

TEST_F(Batches, ATakeoverIsDeliveredEvenWithoutItsCheckpoint) {
  constexpr int kKeys = 70;  // Times 64 KiB is more than 4 MiB.
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = "k" + std::to_string(i);
    const v1::Reservation grant = api_.Grant(key, WithLease(absl::Milliseconds(100)));
    v1::ExtendRequest extend = ExtendOf(key, grant.token());
    *extend.mutable_lease_ttl() = ToProto(absl::Milliseconds(100));
    extend.set_checkpoint(std::string(64 << 10, 'c'));
    ASSERT_TRUE(api_.Extend(extend).ok());
  }
  for (int i = 0; i < kKeys; ++i) api_.AwaitState("k" + std::to_string(i), v1::STATE_LAPSED);
  v1::BatchRequest batch;
  for (int i = 0; i < kKeys; ++i) Add(batch, ReserveOf("k" + std::to_string(i)));
  const v1::BatchResponse response = api_.Batch(batch).value();
  EXPECT_LT(response.ByteSizeLong(), 4u << 20);
  int omitted = 0;
  for (int i = 0; i < kKeys; ++i) {
    const v1::ReserveResponse& reserve = response.items(i).reserve();
    ASSERT_EQ(reserve.outcome(), v1::OUTCOME_FRESH) << i;
    EXPECT_EQ(reserve.reservation().attempt(), 2);
    const v1::Previous& previous = reserve.reservation().previous();
    EXPECT_EQ(previous.checkpoint().size(), previous.checkpoint_omitted() ? 0 : 64u << 10) << i;
    omitted += previous.checkpoint_omitted();
  }
  EXPECT_GT(omitted, 0);
  EXPECT_LT(omitted, kKeys);
  EXPECT_EQ(api_.Inspect("k69").checkpoint().size(), 64u << 10) << "Inspect shows it";
}

}  // namespace
}  // namespace onced::integration
