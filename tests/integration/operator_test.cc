// An operator at work: oncectl and the admin service against the real server.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "idempotency/admin/v1/admin.grpc.pb.h"
#include "tests/integration/api.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

namespace admin_v1 = ::idempotency::admin::v1;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr absl::Duration kShortest = absl::Milliseconds(100);

class Operator : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags = {}, const std::string& config = "") {
    server_ =
        std::make_unique<ServerProcess>(ServerProcess::Options{.flags = flags, .config = config});
    Connect();
  }
  void Connect() {
    api_ = std::make_unique<Api>(server_->Connect());
    admin_ = admin_v1::AdminService::NewStub(server_->ConnectToAdmin());
  }
  Finished Oncectl(const std::vector<std::string>& args) {
    Process::Command run{.argv = {ClientBinary()},
                         .env = {"ONCECTL_ADMIN_SERVER=" + server_->admin_address()}};
    run.argv.insert(run.argv.end(), args.begin(), args.end());
    return integration::Run(run);
  }
  // On the key of `kNamespace`.
  Finished OncectlOn(const std::string& command, const std::string& key, std::int64_t fence,
                     const std::vector<std::string>& flags) {
    std::vector<std::string> args = {command, "--namespace", kNamespace,
                                     "--key", key,           absl::StrCat("--fence=", fence)};
    args.insert(args.end(), flags.begin(), flags.end());
    return Oncectl(args);
  }
  Reply<admin_v1::ResolveResponse> Resolve(const std::string& key, std::int64_t fence,
                                           const std::string& body) {
    admin_v1::ResolveRequest request;
    request.set_namespace_(kNamespace);
    request.set_key(key);
    request.set_fence(fence);
    request.set_force(true);
    if (body.empty()) {
      request.mutable_release();
    } else {
      request.mutable_commit()->mutable_result()->set_body(body);
    }
    grpc::ClientContext context;
    context.set_deadline(Soon());
    Reply<admin_v1::ResolveResponse> reply;
    reply.status = admin_->Resolve(&context, request, &reply.response);
    return reply;
  }
  Reply<admin_v1::EvictResponse> Evict(const std::string& key, std::int64_t fence) {
    admin_v1::EvictRequest request;
    request.set_namespace_(kNamespace);
    request.set_key(key);
    request.set_fence(fence);
    request.set_force(true);
    grpc::ClientContext context;
    context.set_deadline(Soon());
    Reply<admin_v1::EvictResponse> reply;
    reply.status = admin_->Evict(&context, request, &reply.response);
    return reply;
  }

  const TempDir dir_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<admin_v1::AdminService::Stub> admin_;
};

TEST_F(Operator, WhatWasAcknowledgedSurvivesAKill) {
  Start();
  std::vector<std::int64_t> fences;
  for (int i = 0; i < 30; ++i) {
    const v1::Reservation grant = api_->Grant(absl::StrCat("k", i));
    fences.push_back(grant.fence());
    const std::string key = absl::StrCat("k", i);
    const bool done = i % 3 == 0   ? Resolve(key, grant.fence(), "settled").ok()
                      : i % 3 == 1 ? Resolve(key, grant.fence(), "").ok()
                                   : Evict(key, grant.fence()).value().evicted();
    EXPECT_TRUE(done) << i;
  }
  server_->Kill9();
  server_->Start();
  Connect();
  for (int i = 0; i < 30; ++i) {
    const v1::ReserveResponse answer = api_->Reserve(absl::StrCat("k", i));
    if (i % 3 == 0) {
      EXPECT_EQ(answer.replay().result().body(), "settled") << i;
      EXPECT_EQ(answer.replay().fence(), fences[i]) << i;
    } else {
      EXPECT_EQ(answer.outcome(), v1::OUTCOME_FRESH) << i;
      EXPECT_GT(answer.reservation().fence(), fences[i]) << i;
    }
  }
}

TEST_F(Operator, SettlesWhatARestoreHasLeftHeld) {
  const std::string backups = dir_.Path("backups");
  Start({"--backup-dir", backups, "--disk-floor", "0"});
  const v1::Reservation committed = api_->Grant("commit", WithLease(absl::Hours(1)));
  const v1::Reservation released = api_->Grant("release", WithLease(absl::Hours(1)));
  ASSERT_EQ(Oncectl({"backup"}).exit_code, 0);
  ASSERT_EQ(server_->Stop(), 0);
  const std::string restored = dir_.Path("restored");
  const Finished restore = integration::Run(
      {.argv = {ServerBinary(), "restore", "--from", backups, "--data-dir", restored}});
  ASSERT_EQ(restore.exit_code, 0) << restore.err;
  server_->options().data_dir = restored;
  server_->Start();
  Connect();
  EXPECT_EQ(api_->Reserve("commit").outcome(), v1::OUTCOME_UNRESOLVED);
  const Finished list = Oncectl({"list", "--namespace", kNamespace, "--state", "LAPSED"});
  EXPECT_THAT(list.out,
              AllOf(HasSubstr("LAPSED (held)"), HasSubstr(absl::StrCat(committed.fence())),
                    HasSubstr(absl::StrCat(released.fence()))));
  const Finished commit = OncectlOn("resolve", "commit", committed.fence(),
                                    {"--commit", "--status-code=201", "--body=charged"});
  EXPECT_EQ(commit.exit_code, 0) << commit.err;
  EXPECT_EQ(OncectlOn("resolve", "release", released.fence(), {"--release"}).exit_code, 0);
  EXPECT_EQ(api_->Reserve("commit").replay().result().body(), "charged");
  EXPECT_EQ(api_->Reserve("commit").replay().result().status_code(), 201);
  EXPECT_GT(api_->Grant("release").fence(), released.fence());
  // The token of before the restore is the committed grant's, and nothing more.
  EXPECT_EQ(api_->Commit(CommitOf("commit", committed.token(), ResultOf(500, "x"))).error().reason,
            "COMMITTED_DIFFERENTLY");
  EXPECT_EQ(api_->Commit(CommitOf("release", released.token(), ResultOf(500, "x"))).error().reason,
            "RESTORED");
}

TEST_F(Operator, WaitersAreTold) {
  Start();
  const v1::Reservation grant = api_->Grant("key");
  v1::ReserveResponse waited;
  std::thread waiter([&] { waited = api_->Reserve("key", WithWait(absl::Seconds(60))); });
  server_->AwaitWaiters(1);
  EXPECT_TRUE(Resolve("key", grant.fence(), "settled").ok());
  waiter.join();
  EXPECT_EQ(waited.outcome(), v1::OUTCOME_REPLAYED);
  EXPECT_EQ(waited.replay().result().body(), "settled");
}

TEST_F(Operator, EachChangeIsALineOfTheAuditLog) {
  Start();
  const v1::Reservation grant = api_->Grant("customer-4711");
  EXPECT_EQ(OncectlOn("resolve", "customer-4711", grant.fence(), {"--release"}).exit_code, 7);
  EXPECT_EQ(OncectlOn("evict", "customer-4711", grant.fence(), {"--force", "--comment=by phone"})
                .exit_code,
            0);
  EXPECT_EQ(Oncectl({"evict-namespace", "--namespace", kNamespace, "--yes"}).exit_code, 0);
  EXPECT_EQ(Oncectl({"clock", "accept"}).exit_code, 0);
  EXPECT_EQ(Oncectl({"backup"}).exit_code, 7);
  const std::string log = server_->Log();
  EXPECT_THAT(log, HasSubstr(R"("event":"audit","action":"Resolve","identity":"anonymous",)"
                             R"("reason":"HELD","namespace":"tests","key_hash":")"));
  EXPECT_THAT(log, HasSubstr(R"("action":"Evict","identity":"anonymous","outcome":"evicted",)"));
  EXPECT_THAT(log, HasSubstr(absl::StrCat("\"fence\":", grant.fence(),
                                          ",\"force\":true,\"comment\":\"by phone\"}")));
  EXPECT_THAT(log, HasSubstr(R"("action":"EvictNamespace","identity":"anonymous",)"
                             R"("outcome":"last_page","namespace":"tests")"));
  EXPECT_THAT(log, HasSubstr(R"("action":"AcceptClock","identity":"anonymous",)"
                             R"("outcome":"no_step")"));
  EXPECT_THAT(log, HasSubstr(R"("action":"Backup","identity":"anonymous",)"
                             R"("reason":"BACKUP_NOT_CONFIGURED"})"));
  EXPECT_THAT(log, Not(HasSubstr("customer-4711")));
  EXPECT_THAT(log, Not(HasSubstr(grant.token())));
}

TEST_F(Operator, ALongListIsReadInPages) {
  Start();
  v1::BatchRequest batch;
  for (int i = 0; i < 1'000; ++i) {
    *batch.add_operations()->mutable_reserve() = ReserveOf(absl::StrCat("k", i));
  }
  ASSERT_TRUE(api_->Batch(batch).ok());
  for (int i = 0; i < 500; ++i) {
    batch.mutable_operations(i)->mutable_reserve()->set_key(absl::StrCat("l", i));
  }
  ASSERT_TRUE(api_->Batch(batch).ok());
  const Finished all = Oncectl({"list", "--namespace", kNamespace, "--limit=100000"});
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 1 + 1'500);
  const Finished some = Oncectl({"list", "--namespace", kNamespace, "--limit=1200"});
  EXPECT_EQ(std::count(some.out.begin(), some.out.end(), '\n'), 1 + 1'200);
  EXPECT_THAT(some.err, HasSubstr("--page-token"));
  const Finished evicted =
      Oncectl({"evict-namespace", "--namespace", kNamespace, "--yes", "--force"});
  EXPECT_THAT(evicted.out, HasSubstr("evicted:            1500\n"));
  EXPECT_EQ(Oncectl({"list", "--namespace", kNamespace}).out.find('\n') + 1,
            Oncectl({"list", "--namespace", kNamespace}).out.size());
}

// What time has passed is told to who lists, though nobody else has asked for anything.
TEST_F(Operator, AnIdleServerListsWhatHasLapsed) {
  Start();
  api_->Grant("key", WithLease(kShortest));
  Await("a lapse", [&] {
    return Oncectl({"list", "--namespace", kNamespace, "--state=LAPSED"}).out.find("key\n") !=
           std::string::npos;
  });
}

TEST_F(Operator, StatusTellsOfTheServer) {
  Start();
  api_->Grant("key");
  const Finished status = Oncectl({"status"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_THAT(status.out,
              AllOf(HasSubstr("shard_count:        16\n"), HasSubstr("store.failed:       no\n"),
                    HasSubstr("clock.step:         0\n"), HasSubstr("draining:           no\n")));
}

}  // namespace
}  // namespace onced::integration
