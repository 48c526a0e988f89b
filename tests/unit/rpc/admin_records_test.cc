// What an operator does to records, over gRPC: Resolve, Evict, List, EvictNamespace.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/rpc/admin_fixture.h"

namespace onced::rpc_test {
namespace {

namespace v1 = idempotency::v1;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class AdminRecords : public testing::Test {
 protected:
  template <typename Response, typename Request>
  using Call = grpc::Status (admin_v1::AdminService::Stub::*)(grpc::ClientContext*, const Request&,
                                                              Response*);
  template <typename Response, typename Request>
  grpc::Status Ask(Call<Response, Request> call, const Request& request, Response& response) {
    grpc::ClientContext context;
    response.Clear();
    return (serving_.stub().*call)(&context, request, &response);
  }

  grpc::Status Resolve(const admin_v1::ResolveRequest& request) {
    return Ask(&admin_v1::AdminService::Stub::Resolve, request, resolved_);
  }
  grpc::Status Evict(std::int64_t fence, bool force = false, const std::string& key = "key") {
    admin_v1::EvictRequest request;
    request.set_namespace_("ns");
    request.set_key(key);
    request.set_fence(fence);
    request.set_force(force);
    request.set_comment("as asked");
    return Ask(&admin_v1::AdminService::Stub::Evict, request, evicted_);
  }
  grpc::Status List(const admin_v1::ListRequest& request) {
    return Ask(&admin_v1::AdminService::Stub::List, request, listed_);
  }
  grpc::Status EvictNamespace(const std::string& token = "", bool force = false) {
    admin_v1::EvictNamespaceRequest request;
    request.set_namespace_("ns");
    request.set_page_token(token);
    request.set_force(force);
    return Ask(&admin_v1::AdminService::Stub::EvictNamespace, request, page_);
  }
  static admin_v1::ResolveRequest ResolveOf(std::int64_t fence, bool force) {
    admin_v1::ResolveRequest request;
    request.set_namespace_("ns");
    request.set_key("key");
    request.set_fence(fence);
    request.set_force(force);
    request.set_comment("the bank says so");
    return request;
  }
  static admin_v1::ListRequest ListOf(const std::string& name_space, int size = 0) {
    admin_v1::ListRequest request;
    request.set_namespace_(name_space);
    request.set_page_size(size);
    return request;
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const auto& record : listed_.records()) keys.push_back(record.key());
    return keys;
  }
  // Follows the pages.
  std::vector<std::string> AllKeys(admin_v1::ListRequest request) {
    std::vector<std::string> keys;
    for (int page = 0; page < 100; ++page) {
      const grpc::Status status = List(request);
      EXPECT_TRUE(status.ok()) << status.error_message();
      for (const std::string& key : Keys()) keys.push_back(key);
      if (listed_.next_page_token().empty()) return keys;
      request.set_page_token(listed_.next_page_token());
    }
    ADD_FAILURE() << "no end";
    return keys;
  }
  AuditEntry LastAudit() { return serving_.audit().back(); }

  AdminServing serving_{{}};
  admin_v1::ResolveResponse resolved_;
  admin_v1::EvictResponse evicted_;
  admin_v1::ListResponse listed_;
  admin_v1::EvictNamespaceResponse page_;
};

TEST_F(AdminRecords, AResolvedCommitIsReplayed) {
  const Fresh held = serving_.Hold("ns", "key");
  admin_v1::ResolveRequest request = ResolveOf(held.fence.value, false);
  request.mutable_commit()->mutable_result()->set_status_code(201);
  request.mutable_commit()->mutable_result()->set_body("paid");
  EXPECT_EQ(ReasonOf(Resolve(request)), "HELD");
  EXPECT_EQ(LastAudit().reason, "HELD");
  request.set_force(true);
  ASSERT_TRUE(Resolve(request).ok());
  EXPECT_EQ(resolved_.state(), v1::STATE_COMMITTED);
  EXPECT_FALSE(resolved_.already_committed());
  EXPECT_GT(resolved_.expire_time().seconds(), resolved_.commit_time().seconds());
  const Reply replay = serving_.Ask("ns", "key", ReserveOp{.fingerprint = "fp"});
  ASSERT_TRUE(std::holds_alternative<Replayed>(replay));
  EXPECT_EQ(std::get<Replayed>(replay).result->body, "paid");
  ASSERT_TRUE(Resolve(request).ok());
  EXPECT_TRUE(resolved_.already_committed());
  EXPECT_EQ(LastAudit().outcome, "already_committed");
  request.clear_outcome();
  request.mutable_release();
  EXPECT_EQ(ReasonOf(Resolve(request)), "ALREADY_COMMITTED");
}

TEST_F(AdminRecords, AReleasedOneIsFresh) {
  const Fresh held = serving_.Hold("ns", "key");
  admin_v1::ResolveRequest request = ResolveOf(held.fence.value + 1, true);
  request.mutable_release();
  const grpc::Status mismatch = Resolve(request);
  EXPECT_EQ(ReasonOf(mismatch), "FENCE_MISMATCH");
  EXPECT_EQ(mismatch.error_code(), grpc::ABORTED);
  request.set_fence(held.fence.value);
  ASSERT_TRUE(Resolve(request).ok());
  EXPECT_EQ(resolved_.state(), v1::STATE_ABSENT);
  EXPECT_GT(serving_.Hold("ns", "key").fence, held.fence);
}

TEST_F(AdminRecords, EvictDeletesAndTellsWhat) {
  const Fresh committed = serving_.Commit("ns", "key");
  ASSERT_TRUE(Evict(committed.fence.value).ok());
  EXPECT_TRUE(evicted_.evicted());
  EXPECT_EQ(evicted_.state(), v1::STATE_COMMITTED);
  ASSERT_TRUE(Evict(committed.fence.value).ok());
  EXPECT_FALSE(evicted_.evicted());
  EXPECT_EQ(evicted_.state(), v1::STATE_ABSENT);
  EXPECT_GT(serving_.Hold("ns", "key").fence, committed.fence);
}

TEST_F(AdminRecords, EachChangeIsInTheAuditLog) {
  const Fresh held = serving_.Hold("ns", "key");
  Evict(held.fence.value);
  Evict(held.fence.value, /*force=*/true);
  admin_v1::ResolveRequest invalid;
  invalid.set_namespace_("not a namespace");
  invalid.set_comment(std::string(kCommentBytesMax + 1, 'x'));
  Resolve(invalid);
  EvictNamespace();
  List(ListOf("ns"));
  const std::vector<AuditEntry> audit = serving_.audit();
  ASSERT_THAT(audit, SizeIs(4));  // A list changes nothing.
  EXPECT_EQ(audit[0].action, "Evict");
  EXPECT_EQ(audit[0].identity, "anonymous");
  EXPECT_EQ(audit[0].name_space, "ns");
  EXPECT_EQ(audit[0].key, "key");
  EXPECT_EQ(audit[0].fence, held.fence.value);
  EXPECT_EQ(audit[0].force, false);
  EXPECT_EQ(audit[0].comment, "as asked");
  EXPECT_EQ(audit[0].outcome, "");
  EXPECT_EQ(audit[0].reason, "HELD");
  EXPECT_EQ(audit[1].outcome, "evicted");
  EXPECT_EQ(audit[1].reason, "");
  EXPECT_EQ(audit[2].action, "Resolve");
  EXPECT_EQ(audit[2].name_space, "");
  EXPECT_EQ(audit[2].comment, "");
  EXPECT_EQ(audit[2].reason, "INVALID_FIELD");
  EXPECT_EQ(audit[3].action, "EvictNamespace");
  EXPECT_EQ(audit[3].outcome, "last_page");
}

TEST_F(AdminRecords, ListsWithoutSecrets) {
  const Fresh held = serving_.Hold("ns", "held");
  serving_.Commit("ns", "done", "four");
  serving_.Commit("elsewhere", "other");
  ASSERT_TRUE(List(ListOf("ns")).ok());
  EXPECT_THAT(Keys(), UnorderedElementsAre("held", "done"));
  EXPECT_EQ(listed_.next_page_token(), "");
  EXPECT_GT(listed_.server_time().seconds(), 1'700'000'000);
  for (const auto& record : listed_.records()) {
    EXPECT_EQ(record.owner(), "alice");
    EXPECT_EQ(record.fingerprint(), "fp");
    EXPECT_GT(record.fence(), 0);
    if (record.key() == "held") {
      EXPECT_EQ(record.state(), v1::STATE_PENDING);
      EXPECT_EQ(record.on_lapse(), v1::ON_LAPSE_REGRANT);
      EXPECT_TRUE(record.has_lease_expire_time());
    } else {
      EXPECT_EQ(record.state(), v1::STATE_COMMITTED);
      EXPECT_EQ(record.status_code(), 201);
      EXPECT_EQ(record.body_size(), 4);
    }
  }
  const std::string all = listed_.SerializeAsString();
  EXPECT_EQ(all.find(held.token.ToText()), std::string::npos);
  EXPECT_EQ(all.find("secret"), std::string::npos);
  EXPECT_EQ(all.find("four"), std::string::npos);
}

TEST_F(AdminRecords, ListsInPagesOfAnySize) {
  std::set<std::string> all;
  for (int i = 0; i < 25; ++i) {
    all.insert(absl::StrCat("key", i));
    serving_.Hold("ns", absl::StrCat("key", i));
  }
  for (const int size : {1, 7, 24, 25, 26}) {
    const std::vector<std::string> keys = AllKeys(ListOf("ns", size));
    EXPECT_THAT(keys, SizeIs(25)) << size;
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), all) << size;
  }
}

TEST_F(AdminRecords, ListsByStateAndPrefix) {
  serving_.Hold("ns", "a1");
  serving_.Hold("ns", "b1");
  serving_.Commit("ns", "a2");
  admin_v1::ListRequest request = ListOf("ns");
  request.set_key_prefix("a");
  EXPECT_THAT(AllKeys(request), UnorderedElementsAre("a1", "a2"));
  request.add_states(v1::STATE_COMMITTED);
  EXPECT_THAT(AllKeys(request), ElementsAre("a2"));
}

TEST_F(AdminRecords, APageTokenIsOfItsListAlone) {
  for (int i = 0; i < 5; ++i) serving_.Hold("ns", absl::StrCat(i));
  ASSERT_TRUE(List(ListOf("ns", 2)).ok());
  const std::string token = listed_.next_page_token();
  ASSERT_NE(token, "");
  admin_v1::ListRequest other = ListOf("ns", 3);
  other.set_page_token(token);
  EXPECT_TRUE(List(other).ok());  // Another size is no other list.
  other.set_key_prefix("1");
  EXPECT_EQ(ReasonOf(List(other)), "INVALID_FIELD");
  other = ListOf("n", 2);
  other.set_page_token(token);
  EXPECT_EQ(ReasonOf(List(other)), "INVALID_FIELD");
  EXPECT_EQ(ReasonOf(EvictNamespace(token)), "INVALID_FIELD");
}

TEST_F(AdminRecords, TellsOfWhatCantBeRead) {
  serving_.Hold("ns", "good");
  serving_.disk().Damage({2}, {"ns", "bad"}, "junk");
  ASSERT_TRUE(List(ListOf("ns")).ok());
  EXPECT_THAT(Keys(), ElementsAre("good"));
  ASSERT_EQ(listed_.unreadable_size(), 1);
  EXPECT_EQ(listed_.unreadable(0).key(), "bad");
  EXPECT_EQ(listed_.unreadable(0).shard(), 2);
  ASSERT_TRUE(EvictNamespace("", /*force=*/true).ok());
  EXPECT_EQ(page_.evicted(), 1);
  EXPECT_EQ(page_.skipped_unreadable(), 1);
}

TEST_F(AdminRecords, EvictsANamespaceAndNoOther) {
  for (int i = 0; i < 130; ++i) serving_.Commit("ns", absl::StrCat("done", i));
  serving_.Hold("ns", "held");
  serving_.Commit("ns2", "other");
  ASSERT_TRUE(EvictNamespace().ok());
  EXPECT_EQ(page_.evicted(), 130);
  EXPECT_EQ(page_.skipped_held(), 1);
  EXPECT_EQ(page_.next_page_token(), "");
  EXPECT_THAT(AllKeys(ListOf("ns")), ElementsAre("held"));
  ASSERT_TRUE(EvictNamespace("", /*force=*/true).ok());
  EXPECT_EQ(page_.evicted(), 1);
  EXPECT_THAT(AllKeys(ListOf("ns")), IsEmpty());
  EXPECT_THAT(AllKeys(ListOf("ns2")), ElementsAre("other"));
}

TEST_F(AdminRecords, NothingWrongReachesTheShards) {
  const Fresh held = serving_.Hold("ns", "key");
  const struct {
    const char* name;
    void (*spoil)(admin_v1::ResolveRequest&);
  } rows[] = {
      {"namespace", [](auto& r) { r.set_namespace_(""); }},
      {"key", [](auto& r) { r.set_key(""); }},
      {"fence", [](auto& r) { r.set_fence(0); }},
      {"outcome", [](auto& r) { r.clear_outcome(); }},
      {"comment", [](auto& r) { r.set_comment("two\nlines"); }},
      {"digest", [](auto& r) { r.mutable_commit()->mutable_result()->set_body_omitted(true); }},
  };
  for (const auto& row : rows) {
    admin_v1::ResolveRequest request = ResolveOf(held.fence.value, true);
    request.mutable_release();
    row.spoil(request);
    const grpc::Status status = Resolve(request);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << row.name;
    EXPECT_EQ(ReasonOf(status), "INVALID_FIELD") << row.name;
  }
  EXPECT_TRUE(
      std::holds_alternative<Conflict>(serving_.Ask("ns", "key", ReserveOp{.fingerprint = "fp"})));
  admin_v1::ListRequest list = ListOf("ns", 1'001);
  EXPECT_EQ(ReasonOf(List(list)), "INVALID_FIELD");
  list = ListOf("ns");
  list.add_states(v1::STATE_UNSPECIFIED);
  EXPECT_EQ(ReasonOf(List(list)), "INVALID_FIELD");
  list = ListOf("ns");
  list.set_page_token("junk");
  EXPECT_EQ(ReasonOf(List(list)), "INVALID_FIELD");
}

TEST_F(AdminRecords, NotMoreThanTwoPagesAreMadeAtATime) {
  NamespacePages pages(serving_.shards(), serving_.store(), serving_.clock());
  std::promise<void> go_on;
  const std::shared_future<void> gone = go_on.get_future().share();
  for (std::size_t i = 0; i < NamespacePages::kPagesMax; ++i) {
    EXPECT_EQ(pages.TryRun([gone] { gone.wait(); }), SoloWorker::Taken::kYes);
  }
  EXPECT_EQ(pages.TryRun([] {}), SoloWorker::Taken::kBusy);
  go_on.set_value();
  pages.Stop();
  EXPECT_EQ(pages.TryRun([] {}), SoloWorker::Taken::kStopping);
}

TEST(AdminStatus, TellsOfAllParts) {
  AdminServing serving({.last_backup = BackupReport{.id = 7, .size_bytes = 99}, .status = [] {
                          return ServerStatus{.version = "1.2.3",
                                              .start_time = absl::FromUnixSeconds(100),
                                              .draining = true,
                                              .sessions = 3,
                                              .time = absl::FromUnixSeconds(160),
                                              .clock_step = -absl::Seconds(2),
                                              .clock_mark = absl::FromUnixSeconds(161),
                                              .low_on_space = true,
                                              .free_bytes = 1'000,
                                              .key_count = 5,
                                              .last_sweep = absl::FromUnixSeconds(150),
                                              .useless_bytes = 11};
                        }});
  grpc::ClientContext context;
  admin_v1::StatusResponse status;
  ASSERT_TRUE(serving.stub().Status(&context, {}, &status).ok());
  EXPECT_EQ(status.version(), "1.2.3");
  EXPECT_EQ(status.uptime().seconds(), 60);
  EXPECT_TRUE(status.draining());
  EXPECT_EQ(status.sessions(), 3);
  EXPECT_EQ(status.shard_count(), 4);
  EXPECT_EQ(status.executors_size(), 2);
  EXPECT_EQ(status.epoch(), serving.store().identity().epoch.value);
  EXPECT_EQ(status.clock().time().seconds(), 160);
  EXPECT_EQ(status.clock().step().seconds(), -2);
  EXPECT_EQ(status.clock().mark().seconds(), 161);
  EXPECT_TRUE(status.store().low_on_space());
  EXPECT_FALSE(status.store().failed());
  EXPECT_EQ(status.store().free_bytes(), 1'000);
  EXPECT_EQ(status.store().key_count(), 5);
  EXPECT_EQ(status.last_backup().backup_id(), 7);
  EXPECT_EQ(status.last_sweep().end_time().seconds(), 150);
  EXPECT_EQ(status.last_sweep().useless_bytes(), 11);
}

}  // namespace
}  // namespace onced::rpc_test
