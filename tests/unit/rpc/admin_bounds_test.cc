// What a call of the admin service may cost, whoever sends it, and what is said of one that
// failed half-way.
#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "server/base/bytes.h"
#include "server/rpc/fields.h"
#include "server/rpc/wire.h"
#include "tests/unit/rpc/admin_fixture.h"

namespace onced::rpc_test {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// A server that knows two callers: `ops` administers "mine", `app` uses it.
class AdminBounds : public testing::Test {
 protected:
  static std::string TokenOf(const std::string& name) { return name + "-has-this-token"; }
  static std::unique_ptr<Reloaded<TokenTable>> Tokens() {
    std::string text;
    for (const char* name : {"ops", "app"}) {
      absl::StrAppend(&text, name, " sha256:", ToHex(Sha256(TokenOf(name))), "\n");
    }
    return *Reloaded<TokenTable>::Open(
        {.files = {}, .parse = [text](const auto&) { return TokenTable::Parse(text, "tokens"); }});
  }

  // `who` empty: nobody who is known.
  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (admin_v1::AdminService::Stub::*call)(grpc::ClientContext*,
                                                                      const Request&, Response*),
                   const std::string& who, const Request& request, Response& response) {
    grpc::ClientContext context;
    if (!who.empty()) context.AddMetadata("authorization", "Bearer " + TokenOf(who));
    response.Clear();
    return (serving_.stub().*call)(&context, request, &response);
  }
  grpc::Status List(const std::string& who, const admin_v1::ListRequest& request) {
    return Ask(&admin_v1::AdminService::Stub::List, who, request, listed_);
  }
  grpc::Status EvictNamespace(const std::string& token = "") {
    admin_v1::EvictNamespaceRequest request;
    request.set_namespace_("mine");
    request.set_page_token(token);
    return Ask(&admin_v1::AdminService::Stub::EvictNamespace, "ops", request, page_);
  }
  grpc::Status Evict(const std::string& who, const Fresh& held) {
    admin_v1::EvictRequest request;
    request.set_namespace_("mine");
    request.set_key("key");
    request.set_fence(held.fence.value);
    request.set_force(true);
    admin_v1::EvictResponse response;
    return Ask(&admin_v1::AdminService::Stub::Evict, who, request, response);
  }
  static int ViolationsOf(const grpc::Status& status) {
    google::rpc::Status error;
    EXPECT_TRUE(error.ParseFromString(status.error_details()));
    google::rpc::BadRequest bad;
    for (const auto& detail : error.details()) {
      if (detail.UnpackTo(&bad)) return bad.field_violations_size();
    }
    return 0;
  }
  static std::int64_t CountOf(const AuditEntry& entry, const std::string& name) {
    for (const auto& [counted, count] : entry.counts) {
      if (counted == name) return count;
    }
    return -1;
  }

  const AccessList access_{{{"token:ops", {"mine"}, {.admin = true}},
                            {"token:app", {"mine"}, {.use = true, .inspect = true}}}};
  const std::unique_ptr<Reloaded<TokenTable>> tokens_ = Tokens();
  const SystemClock wall_{};
  AdminServing serving_{
      {}, Authenticator::Options{.access = &access_, .tokens = tokens_.get(), .clock = &wall_}};
  admin_v1::ListResponse listed_;
  admin_v1::EvictNamespaceResponse page_;
};

// ---- Requests ----

TEST_F(AdminBounds, ManyStatesAreOneViolation) {
  admin_v1::ListRequest request;
  request.set_namespace_("mine");
  for (int i = 0; i < kStatesMax; ++i) request.add_states(idempotency::v1::STATE_PENDING);
  EXPECT_TRUE(List("ops", request).ok());
  request.clear_states();
  for (int i = 0; i < 20'000; ++i) request.add_states(static_cast<idempotency::v1::State>(99));
  const grpc::Status status = List("ops", request);
  EXPECT_EQ(status.error_message(), "states: must have at most 16 values, has 20000");
  EXPECT_EQ(ViolationsOf(status), 1);
}

TEST_F(AdminBounds, OnlyAResolveMayBeLarge) {
  admin_v1::ListRequest list;
  list.set_namespace_("mine");
  list.set_key_prefix(std::string(kSmallRequestBytesMax, 'x'));
  EXPECT_EQ(List("ops", list).error_message(),
            absl::StrCat("request: must have at most 65536 ", "bytes, has ", list.ByteSizeLong()));
  admin_v1::ResolveRequest resolve;
  resolve.set_namespace_("mine");
  resolve.set_key("key");
  resolve.set_fence(1);
  resolve.mutable_commit()->mutable_result()->set_body(std::string(kSmallRequestBytesMax, 'x'));
  admin_v1::ResolveResponse resolved;
  const grpc::Status status = Ask(&admin_v1::AdminService::Stub::Resolve, "ops", resolve, resolved);
  EXPECT_EQ(ReasonOf(status), "NOT_RESERVED");
}

TEST(Findings, AreKeptUpToABoundAndCounted) {
  Findings findings("");
  for (int i = 0; i < 100; ++i) findings.Add(absl::StrCat("states[", i, "]"), "is no state");
  const google::rpc::Status error = findings.Error();
  EXPECT_EQ(error.message(), "states[0]: is no state (and 99 more)");
  google::rpc::BadRequest bad;
  ASSERT_TRUE(error.details(1).UnpackTo(&bad));
  EXPECT_EQ(bad.field_violations_size(), static_cast<int>(Findings::kMax));
}

// ---- Callers ----

TEST_F(AdminBounds, WhoMayDoNothingHearsNothing) {
  admin_v1::ListRequest request;
  request.set_namespace_("not a name");
  EXPECT_EQ(ReasonOf(List("ops", request)), "INVALID_FIELD");
  EXPECT_EQ(ReasonOf(List("app", request)), "NAMESPACE_NOT_ALLOWED");
  request.set_key_prefix(std::string(kSmallRequestBytesMax, 'x'));  // It isn't looked at.
  EXPECT_EQ(ReasonOf(List("ops", request)), "INVALID_FIELD");
  EXPECT_EQ(ReasonOf(List("app", request)), "NAMESPACE_NOT_ALLOWED");
}

TEST_F(AdminBounds, AStrangerWritesNoAuditLine) {
  const Fresh held = serving_.Hold("mine", "key");
  EXPECT_EQ(ReasonOf(Evict("", held)), "UNAUTHENTICATED");
  EXPECT_EQ(ReasonOf(Evict("nobody", held)), "UNAUTHENTICATED");
  admin_v1::AcceptClockResponse response;
  EXPECT_EQ(ReasonOf(Ask(&admin_v1::AdminService::Stub::AcceptClock, "", {}, response)),
            "UNAUTHENTICATED");
  EXPECT_THAT(serving_.audit(), IsEmpty());
  EXPECT_EQ(ReasonOf(Evict("app", held)), "NAMESPACE_NOT_ALLOWED");
  ASSERT_THAT(serving_.audit(), SizeIs(1));
  EXPECT_EQ(serving_.audit()[0].identity, "token:app");
}

// ---- Pages that fail half-way ----

TEST_F(AdminBounds, APageInWhichSomethingWasEvictedDoesNotFail) {
  for (int i = 0; i < 5; ++i) serving_.Commit("mine", absl::StrCat("done", i));
  serving_.Hold("mine", "held");
  serving_.faulty().FailReads({"mine", "done3"}, absl::DataLossError("unreadable"));
  ASSERT_TRUE(EvictNamespace().ok());
  EXPECT_EQ(page_.evicted(), 4);
  EXPECT_EQ(page_.skipped_held(), 0);  // It comes again.
  const std::string again = page_.next_page_token();
  ASSERT_NE(again, "");
  AuditEntry audit = serving_.audit().back();
  EXPECT_EQ(audit.outcome, "part_of_page");
  EXPECT_EQ(CountOf(audit, "evicted"), 4);
  EXPECT_EQ(CountOf(audit, "skipped_held"), 1);

  EXPECT_EQ(ReasonOf(EvictNamespace(again)), "STORE_FAILED");
  audit = serving_.audit().back();
  EXPECT_EQ(audit.outcome, "");
  EXPECT_EQ(audit.reason, "STORE_FAILED");
  EXPECT_EQ(CountOf(audit, "evicted"), 0);
  EXPECT_EQ(CountOf(audit, "skipped_held"), 1);

  serving_.faulty().HealReads();
  ASSERT_TRUE(EvictNamespace(again).ok());
  EXPECT_EQ(page_.evicted(), 1);
  EXPECT_EQ(page_.skipped_held(), 1);
  EXPECT_EQ(page_.next_page_token(), "");
}

// ---- A log that nobody reads ----

TEST_F(AdminBounds, AShardDoesNotWaitForTheAuditLog) {
  const Fresh held = serving_.Hold("mine", "key");
  std::promise<void> noting;
  std::promise<void> go_on;
  serving_.audit_log().Before([&] {
    noting.set_value();
    go_on.get_future().wait();
  });
  std::future<grpc::Status> evicted =
      std::async(std::launch::async, [&] { return Evict("ops", held); });
  noting.get_future().wait();
  // The same shard as that which answered.
  std::future<Reply> reply = std::async(std::launch::async, [&] {
    return serving_.Ask("mine", "key", ReserveOp{.fingerprint = "fp"});
  });
  EXPECT_EQ(reply.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(evicted.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
      << "answered before it was in the log";
  go_on.set_value();
  EXPECT_TRUE(evicted.get().ok());
  EXPECT_TRUE(std::holds_alternative<Fresh>(reply.get()));
  EXPECT_EQ(serving_.audit().back().outcome, "evicted");
}

TEST(AnswerWorker, HasABoundAndRunsAllInOrder) {
  std::vector<std::size_t> ran;
  std::promise<void> go_on;
  {
    AnswerWorker worker;
    for (std::size_t i = 0; i < AnswerWorker::kPlacesMax; ++i) {
      ASSERT_TRUE(worker.TryTakePlace());
    }
    EXPECT_FALSE(worker.TryTakePlace());
    std::promise<void> first;
    worker.Run([&] {
      first.set_value();
      go_on.get_future().wait();
    });
    first.get_future().wait();
    for (std::size_t i = 1; i < AnswerWorker::kPlacesMax; ++i) {
      worker.Run([&ran, i] { ran.push_back(i); });
    }
    EXPECT_FALSE(worker.TryTakePlace());
    go_on.set_value();
  }
  ASSERT_THAT(ran, SizeIs(AnswerWorker::kPlacesMax - 1));
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

}  // namespace
}  // namespace onced::rpc_test
