// Section 3 of docs/protocol.md, as a caller sees it.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

constexpr absl::Duration kShortest = absl::Milliseconds(100);

class Verdicts : public testing::Test {
 protected:
  // A key whose lease has run out, and the grant it was of.
  v1::Reservation Lapsed(const std::string& key, const Api::ReserveChange& change = nullptr) {
    const v1::Reservation grant = api_.Grant(key, [&](v1::ReserveRequest& request) {
      WithLease(kShortest)(request);
      if (change) change(request);
    });
    api_.AwaitState(key, v1::STATE_LAPSED);
    return grant;
  }
  v1::Reservation Committed(const std::string& key, const v1::Result& result) {
    const v1::Reservation grant = api_.Grant(key);
    api_.Commit(key, grant.token(), result);
    return grant;
  }

  ServerProcess server_{{.config = "namespaces:\n  held: {on_lapse: HOLD}\n"}};
  Api api_{server_.Connect()};
};

v1::ReserveRequest HeldReserve(const std::string& key) {
  v1::ReserveRequest request = ReserveOf(key);
  request.set_namespace_("held");
  *request.mutable_lease_ttl() = ToProto(kShortest);
  return request;
}

// ---- Reserve ----

TEST_F(Verdicts, AnAbsentKeyIsGranted) {
  const absl::Time before = absl::Now();
  const v1::ReserveResponse response = api_.Reserve("k", WithLease(absl::Minutes(3)));
  ASSERT_EQ(response.outcome(), v1::OUTCOME_FRESH);
  const v1::Reservation& grant = response.reservation();
  EXPECT_THAT(grant.token(), testing::MatchesRegex("[!-~]{22,128}"));
  EXPECT_GE(grant.fence(), absl::ToUnixMicros(before));
  EXPECT_EQ(grant.attempt(), 1);
  EXPECT_FALSE(grant.has_previous());
  EXPECT_EQ(ToTime(grant.lease_expire_time()), ToTime(response.server_time()) + absl::Minutes(3));
}

TEST_F(Verdicts, ALeaseTakesTwoMinutesByDefault) {
  const v1::ReserveResponse response = api_.Reserve("k");
  EXPECT_EQ(ToTime(response.reservation().lease_expire_time()),
            ToTime(response.server_time()) + absl::Minutes(2));
}

TEST_F(Verdicts, APendingKeyIsAConflict) {
  const v1::ReserveResponse granted =
      api_.Reserve("k", [](v1::ReserveRequest& request) { request.set_owner("worker-1"); });
  const v1::ReserveResponse response = api_.Reserve("k");
  ASSERT_EQ(response.outcome(), v1::OUTCOME_CONFLICT);
  const v1::Holder& holder = response.holder();
  EXPECT_EQ(holder.state(), v1::STATE_PENDING);
  EXPECT_EQ(holder.owner(), "worker-1");
  EXPECT_EQ(holder.fence(), granted.reservation().fence());
  EXPECT_TRUE(Same(holder.reserve_time(), granted.server_time()));
  EXPECT_TRUE(Same(holder.lease_expire_time(), granted.reservation().lease_expire_time()));
  EXPECT_GT(ToDuration(holder.retry_delay()), absl::ZeroDuration());
  EXPECT_LE(ToDuration(holder.retry_delay()), absl::Seconds(1));
}

TEST_F(Verdicts, ARetryIsAskedForNoLaterThanTheLeaseEnds) {
  api_.Grant("k", WithLease(absl::Milliseconds(300)));
  const v1::ReserveResponse response = api_.Reserve("k");
  if (response.outcome() != v1::OUTCOME_CONFLICT) GTEST_SKIP() << "the lease was over already";
  EXPECT_GT(ToDuration(response.holder().retry_delay()), absl::ZeroDuration());
  EXPECT_LE(ToTime(response.server_time()) + ToDuration(response.holder().retry_delay()),
            ToTime(response.holder().lease_expire_time()));
}

TEST_F(Verdicts, AReplayIsByteForByte) {
  const v1::Reservation grant = api_.Grant("k");
  const v1::CommitResponse commit = api_.Commit("k", grant.token(), AwkwardResult());
  EXPECT_FALSE(commit.already_committed() || commit.late() || commit.body_omitted() ||
               commit.headers_omitted());
  for (int i = 0; i < 2; ++i) {
    const v1::ReserveResponse response = api_.Reserve("k");
    ASSERT_EQ(response.outcome(), v1::OUTCOME_REPLAYED);
    const v1::Replay& replay = response.replay();
    v1::Result want = AwkwardResult();
    want.set_body_size(1024);
    want.set_body_sha256(replay.result().body_sha256());
    EXPECT_TRUE(Same(replay.result(), want));
    EXPECT_EQ(replay.result().body_sha256().size(), 32);
    EXPECT_TRUE(Same(replay.commit_time(), commit.commit_time()));
    EXPECT_TRUE(Same(replay.expire_time(), commit.expire_time()));
    EXPECT_EQ(replay.fence(), grant.fence());
    EXPECT_TRUE(response.has_server_time());
  }
}

TEST_F(Verdicts, AResultMayBeEmpty) {
  const v1::Reservation grant = api_.Grant("k");
  v1::CommitRequest request = CommitOf("k", grant.token(), {});
  request.clear_result();
  ASSERT_TRUE(api_.Commit(request).ok());
  const v1::ReserveResponse response = api_.Reserve("k");
  ASSERT_EQ(response.outcome(), v1::OUTCOME_REPLAYED);
  EXPECT_EQ(response.replay().result().status_code(), 0);
  EXPECT_EQ(response.replay().result().body(), "");
  EXPECT_EQ(response.replay().result().body_sha256().size(), 32);
}

TEST_F(Verdicts, AnotherFingerprintIsAMismatchInEveryState) {
  const auto mine = WithFingerprint("sha256:aa");
  const v1::Reservation pending = api_.Grant("pending", mine);
  const v1::Reservation lapsed = Lapsed("lapsed", mine);
  const v1::Reservation committed = api_.Grant("committed", mine);
  api_.Commit("committed", committed.token(), ResultOf(200, "done"));

  struct Row {
    const char* key;
    v1::State state;
    std::int64_t fence;
  };
  for (const Row& row : {Row{"pending", v1::STATE_PENDING, pending.fence()},
                         Row{"lapsed", v1::STATE_LAPSED, lapsed.fence()},
                         Row{"committed", v1::STATE_COMMITTED, committed.fence()}}) {
    SCOPED_TRACE(row.key);
    for (const char* other : {"sha256:ab", "", "sha256:a", "sha256:aa "}) {
      const v1::ReserveResponse response = api_.Reserve(row.key, WithFingerprint(other));
      EXPECT_EQ(response.outcome(), v1::OUTCOME_MISMATCH) << other;
      EXPECT_EQ(response.holder().state(), row.state) << other;
      EXPECT_EQ(response.holder().fence(), row.fence) << other;
      EXPECT_FALSE(response.has_replay() || response.has_reservation()) << other;
    }
  }
}

TEST_F(Verdicts, AnEmptyFingerprintEqualsOnlyAnEmptyOne) {
  api_.Grant("k");
  EXPECT_EQ(api_.Reserve("k", WithFingerprint("x")).outcome(), v1::OUTCOME_MISMATCH);
  EXPECT_EQ(api_.Reserve("k", WithFingerprint("")).outcome(), v1::OUTCOME_CONFLICT);
}

TEST_F(Verdicts, AMismatchDoesNotWait) {
  api_.Grant("k", WithFingerprint("a"));
  EXPECT_EQ(api_.Reserve("k", WithWait(absl::Seconds(60))).outcome(), v1::OUTCOME_MISMATCH);
}

TEST_F(Verdicts, ALostReplyIsRegainedByItsRequestId) {
  const auto mine = [](v1::ReserveRequest& request) { request.set_request_id("run-1"); };
  const v1::Reservation first = api_.Grant("k", mine);
  EXPECT_TRUE(Same(api_.Grant("k", mine), first));
  EXPECT_EQ(api_.Reserve("k", [](v1::ReserveRequest& r) { r.set_request_id("run-2"); }).outcome(),
            v1::OUTCOME_CONFLICT);
  EXPECT_EQ(api_.Reserve("k").outcome(), v1::OUTCOME_CONFLICT);
}

TEST_F(Verdicts, AnEmptyRequestIdRegainsNothing) {
  api_.Grant("k");
  EXPECT_EQ(api_.Reserve("k").outcome(), v1::OUTCOME_CONFLICT);
}

TEST_F(Verdicts, ARepeatShowsTheExtendedLease) {
  const auto mine = [](v1::ReserveRequest& request) { request.set_request_id("run-1"); };
  const v1::Reservation first = api_.Grant("k", mine);
  const absl::Time end = api_.Extend("k", first.token(), absl::Hours(1));
  EXPECT_EQ(ToTime(api_.Grant("k", mine).lease_expire_time()), end);
}

TEST_F(Verdicts, ALapsedKeyIsTakenOver) {
  v1::Reservation first =
      Lapsed("k", [](v1::ReserveRequest& request) { request.set_owner("worker-1"); });
  const v1::Reservation second = api_.Grant("k");
  EXPECT_EQ(second.attempt(), 2);
  EXPECT_GT(second.fence(), first.fence());
  EXPECT_NE(second.token(), first.token());
  ASSERT_TRUE(second.has_previous());
  EXPECT_EQ(second.previous().fence(), first.fence());
  EXPECT_EQ(second.previous().owner(), "worker-1");
  EXPECT_TRUE(Same(second.previous().lapse_time(), first.lease_expire_time()));
  EXPECT_EQ(second.previous().checkpoint(), "");

  for (const Error& error : {api_.Commit(CommitOf("k", first.token(), {})).error(),
                             api_.Release(ReleaseOf("k", first.token())).error(),
                             api_.Extend(ExtendOf("k", first.token())).error()}) {
    EXPECT_EQ(error.code, grpc::ABORTED);
    EXPECT_EQ(error.reason, "SUPERSEDED");
  }
}

TEST_F(Verdicts, ATakeoverIsHandedTheCheckpoint) {
  const std::string checkpoint("step 2\0\xff", 8);
  const v1::Reservation first = api_.Grant("k", WithLease(kShortest));
  v1::ExtendRequest extend = ExtendOf("k", first.token());
  *extend.mutable_lease_ttl() = ToProto(kShortest);
  extend.set_checkpoint(checkpoint);
  ASSERT_TRUE(api_.Extend(extend).ok());
  api_.AwaitState("k", v1::STATE_LAPSED);

  const v1::Reservation second = api_.Grant("k", WithLease(kShortest));
  EXPECT_EQ(second.previous().checkpoint(), checkpoint);
  EXPECT_FALSE(second.previous().checkpoint_omitted());
  api_.AwaitState("k", v1::STATE_LAPSED);
  const v1::Reservation third = api_.Grant("k");
  EXPECT_EQ(third.attempt(), 3);
  EXPECT_EQ(third.previous().fence(), second.fence());
  EXPECT_EQ(third.previous().checkpoint(), checkpoint) << "the last one saved by anybody";

  extend = ExtendOf("k", third.token());
  extend.set_checkpoint("");
  ASSERT_TRUE(api_.Extend(extend).ok());
  EXPECT_EQ(api_.Inspect("k").checkpoint(), "") << "an empty one removes it";
}

TEST_F(Verdicts, UnderHoldALapsedKeyIsUnresolvedUntilItsLateCommit) {
  const v1::Reservation grant = api_.Reserve(HeldReserve("k")).value().reservation();
  v1::InspectRequest inspect = InspectOf("k");
  inspect.set_namespace_("held");
  Await("LAPSED",
        [&] { return api_.Inspect(inspect).value().record().state() == v1::STATE_LAPSED; });
  EXPECT_EQ(api_.Inspect(inspect).value().record().on_lapse(), v1::ON_LAPSE_HOLD);
  EXPECT_FALSE(api_.Inspect(inspect).value().record().has_expire_time()) << "it never expires";

  v1::ReserveRequest reserve = HeldReserve("k");
  *reserve.mutable_wait_timeout() = ToProto(absl::Seconds(60));
  const v1::ReserveResponse unresolved = api_.Reserve(reserve).value();
  ASSERT_EQ(unresolved.outcome(), v1::OUTCOME_UNRESOLVED);
  EXPECT_EQ(unresolved.holder().state(), v1::STATE_LAPSED);
  EXPECT_EQ(unresolved.holder().fence(), grant.fence());

  v1::CommitRequest commit = CommitOf("k", grant.token(), AwkwardResult());
  commit.set_namespace_("held");
  EXPECT_TRUE(api_.Commit(commit).value().late());
  const v1::ReserveResponse replayed = api_.Reserve(HeldReserve("k")).value();
  EXPECT_EQ(replayed.outcome(), v1::OUTCOME_REPLAYED);
  EXPECT_EQ(replayed.replay().result().body(), AwkwardResult().body());
  EXPECT_TRUE(api_.Inspect(inspect).value().record().late());
}

// ---- Commit ----

TEST_F(Verdicts, ALateCommitIsKept) {
  const v1::Reservation grant = Lapsed("k");
  EXPECT_TRUE(api_.Commit("k", grant.token(), ResultOf(200, "late")).late());
  EXPECT_EQ(api_.Reserve("k").replay().result().body(), "late");
}

TEST_F(Verdicts, ACommitMayBeRepeated) {
  const v1::Reservation grant = api_.Grant("k");
  const v1::CommitResponse first = api_.Commit("k", grant.token(), AwkwardResult());
  v1::CommitResponse want = first;
  want.set_already_committed(true);
  EXPECT_TRUE(Same(api_.Commit("k", grant.token(), AwkwardResult()), want));
}

TEST_F(Verdicts, AnotherResultIsRefusedAndTheFirstStands) {
  const v1::Reservation grant = api_.Grant("k");
  api_.Commit("k", grant.token(), AwkwardResult());
  v1::Result other_status = AwkwardResult();
  other_status.set_status_code(200);
  v1::Result other_order = AwkwardResult();
  other_order.mutable_headers()->SwapElements(0, 1);
  v1::Result other_body = AwkwardResult();
  other_body.mutable_body()->back() ^= 1;
  for (const v1::Result& other : {other_status, other_order, other_body}) {
    const Error error = api_.Commit(CommitOf("k", grant.token(), other)).error();
    EXPECT_EQ(error.code, grpc::FAILED_PRECONDITION);
    EXPECT_EQ(error.reason, "COMMITTED_DIFFERENTLY");
  }
  EXPECT_EQ(api_.Reserve("k").replay().result().body(), AwkwardResult().body());
}

TEST_F(Verdicts, ReplaysDoNotMoveTheExpiry) {
  const v1::Reservation grant = api_.Grant("k");
  v1::CommitRequest request = CommitOf("k", grant.token(), ResultOf(200, ""));
  *request.mutable_retention_ttl() = ToProto(absl::Seconds(1));
  const v1::CommitResponse commit = api_.Commit(request).value();
  EXPECT_EQ(ToTime(commit.expire_time()), ToTime(commit.commit_time()) + absl::Seconds(1));
  v1::ReserveResponse response;
  Await("the end of the retention", [&] {
    response = api_.Reserve("k");
    const bool replayed = response.outcome() == v1::OUTCOME_REPLAYED;
    if (replayed) {
      EXPECT_TRUE(Same(response.replay().expire_time(), commit.expire_time()));
    }
    return !replayed;
  });
  EXPECT_EQ(response.outcome(), v1::OUTCOME_FRESH);
  EXPECT_EQ(response.reservation().attempt(), 1);
  EXPECT_FALSE(response.reservation().has_previous());
  EXPECT_GT(response.reservation().fence(), grant.fence());
  EXPECT_GE(ToTime(response.server_time()), ToTime(commit.expire_time()));
}

TEST_F(Verdicts, ACommitOfADayIsTheDefault) {
  const v1::Reservation grant = api_.Grant("k");
  const v1::CommitResponse commit = api_.Commit("k", grant.token(), {});
  EXPECT_EQ(ToTime(commit.expire_time()), ToTime(commit.commit_time()) + absl::Hours(24));
}

// ---- Release ----

TEST_F(Verdicts, AReleasedKeyIsGrantedAnewWithAHigherFence) {
  const v1::Reservation first = api_.Grant("k");
  EXPECT_TRUE(api_.Release("k", first.token()));
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_ABSENT);
  EXPECT_FALSE(api_.Release("k", first.token())) << "a repeat is harmless";
  const v1::Reservation second = api_.Grant("k");
  EXPECT_EQ(second.attempt(), 1);
  EXPECT_FALSE(second.has_previous());
  EXPECT_GT(second.fence(), first.fence());
  EXPECT_EQ(api_.Release(ReleaseOf("k", first.token())).error().reason, "SUPERSEDED");
}

TEST_F(Verdicts, ALapsedKeyMayBeReleased) {
  const v1::Reservation grant = Lapsed("k");
  EXPECT_TRUE(api_.Release("k", grant.token()));
  EXPECT_FALSE(api_.Grant("k").has_previous());
}

// ---- Extend ----

TEST_F(Verdicts, ExtendMovesTheLeasesEndAndNeverShortensIt) {
  const v1::Reservation grant = api_.Grant("k", WithLease(absl::Minutes(1)));
  const absl::Time end = api_.Extend("k", grant.token(), absl::Hours(1));
  EXPECT_GT(end, ToTime(grant.lease_expire_time()) + absl::Minutes(58));
  EXPECT_EQ(api_.Extend("k", grant.token(), absl::Seconds(1)), end);
  EXPECT_EQ(ToTime(api_.Inspect("k").lease_expire_time()), end);
}

TEST_F(Verdicts, ALapsedLeaseMayBeExtended) {
  const v1::Reservation grant = Lapsed("k");
  api_.Extend("k", grant.token(), absl::Minutes(1));
  EXPECT_EQ(api_.Reserve("k").outcome(), v1::OUTCOME_CONFLICT);
}

TEST_F(Verdicts, ExtendWithoutACheckpointKeepsIt) {
  const v1::Reservation grant = api_.Grant("k");
  v1::ExtendRequest extend = ExtendOf("k", grant.token());
  extend.set_checkpoint("saved");
  ASSERT_TRUE(api_.Extend(extend).ok());
  ASSERT_TRUE(api_.Extend(ExtendOf("k", grant.token())).ok());
  EXPECT_EQ(api_.Inspect("k").checkpoint(), "saved");
}

// ---- Inspect ----

TEST_F(Verdicts, InspectShowsEachState) {
  EXPECT_TRUE(Same(api_.Inspect("absent"), [] {
    v1::Record record;
    record.set_state(v1::STATE_ABSENT);
    return record;
  }()));

  const auto mine = [](v1::ReserveRequest& request) {
    request.set_owner("worker-1");
    request.set_fingerprint("fp");
    request.set_request_id("secret-run");
  };
  const v1::ReserveResponse granted = api_.Reserve("pending", mine);
  v1::Record want;
  want.set_state(v1::STATE_PENDING);
  want.set_fence(granted.reservation().fence());
  want.set_attempt(1);
  want.set_owner("worker-1");
  want.set_fingerprint("fp");
  *want.mutable_reserve_time() = granted.server_time();
  *want.mutable_lease_expire_time() = granted.reservation().lease_expire_time();
  *want.mutable_expire_time() = granted.reservation().lease_expire_time();
  want.mutable_expire_time()->set_seconds(want.expire_time().seconds() + 24 * 3600);
  want.set_on_lapse(v1::ON_LAPSE_REGRANT);
  EXPECT_TRUE(Same(api_.Inspect("pending"), want));

  Lapsed("lapsed");
  const v1::Reservation second = api_.Grant("lapsed", WithLease(kShortest));
  api_.AwaitState("lapsed", v1::STATE_LAPSED);
  const v1::Record lapsed = api_.Inspect("lapsed");
  EXPECT_EQ(lapsed.attempt(), 2);
  EXPECT_TRUE(Same(lapsed.previous(), second.previous()));

  const v1::Reservation grant = api_.Grant("committed", mine);
  const v1::CommitResponse commit = api_.Commit("committed", grant.token(), AwkwardResult());
  const v1::Record committed = api_.Inspect("committed", true);
  EXPECT_EQ(committed.state(), v1::STATE_COMMITTED);
  EXPECT_EQ(committed.fence(), grant.fence());
  EXPECT_TRUE(Same(committed.commit_time(), commit.commit_time()));
  EXPECT_TRUE(Same(committed.expire_time(), commit.expire_time()));
  EXPECT_FALSE(committed.has_lease_expire_time());
  EXPECT_EQ(committed.result().body(), AwkwardResult().body());
  EXPECT_FALSE(api_.Inspect("committed").has_result()) << "it was not asked for";
}

TEST_F(Verdicts, InspectNeverShowsASecret) {
  const auto mine = [](v1::ReserveRequest& request) { request.set_request_id("secret-run"); };
  const v1::Reservation pending = api_.Grant("pending", mine);
  const v1::Reservation committed = api_.Grant("committed", mine);
  api_.Commit("committed", committed.token(), ResultOf(200, "done"));
  for (const auto& [key, token] :
       {std::pair{"pending", pending.token()}, std::pair{"committed", committed.token()}}) {
    v1::InspectRequest request = InspectOf(key);
    request.set_include_result(true);
    const std::string bytes = api_.Inspect(request).value().SerializeAsString();
    EXPECT_EQ(bytes.find(token), std::string::npos) << key;
    EXPECT_EQ(bytes.find("secret-run"), std::string::npos) << key;
  }
}

// ---- All ----

TEST_F(Verdicts, EveryVerdictHasTheServersTime) {
  absl::Time last = absl::InfinitePast();
  const auto later = [&](const google::protobuf::Timestamp& time) {
    const bool is_later = ToTime(time) >= last;
    last = ToTime(time);
    return is_later;
  };
  const v1::ReserveResponse fresh = api_.Reserve("k", WithFingerprint("a"));
  EXPECT_TRUE(later(fresh.server_time()));
  EXPECT_TRUE(later(api_.Reserve("k", WithFingerprint("a")).server_time()));
  EXPECT_TRUE(later(api_.Reserve("k", WithFingerprint("b")).server_time()));
  EXPECT_TRUE(later(api_.Inspect(InspectOf("k")).value().server_time()));
  api_.Commit("k", fresh.reservation().token(), {});
  EXPECT_TRUE(later(api_.Reserve("k", WithFingerprint("a")).server_time()));
  EXPECT_LT(absl::AbsDuration(absl::Now() - last), absl::Minutes(1));
}

TEST_F(Verdicts, KeysAreComparedByteForByte) {
  api_.Grant("Straße");
  for (const char* other : {"straße", "Strasse", "Straße ", "Strasße"}) {
    EXPECT_EQ(api_.Reserve(other).outcome(), v1::OUTCOME_FRESH) << other;
  }
}

TEST_F(Verdicts, NamespacesAreApart) {
  const v1::Reservation grant = api_.Grant("k");
  v1::ReserveRequest request = ReserveOf("k");
  request.set_namespace_("tests2");
  const v1::Reservation other = api_.Reserve(request).value().reservation();
  EXPECT_NE(other.token(), grant.token());
  EXPECT_EQ(api_.Commit(CommitOf("k", other.token(), {})).error().reason, "SUPERSEDED");
}

}  // namespace
}  // namespace onced::integration
