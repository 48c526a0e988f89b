// The admin service, and the way of a store through a backup: oncectl backup,
// onced restore, a start on what came of it.
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "idempotency/admin/v1/admin.grpc.pb.h"
#include "tests/integration/api.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

namespace admin_v1 = ::idempotency::admin::v1;
using testing::HasSubstr;

// A backup at this rate is still at work when the next call comes.
constexpr char kSlow[] = "1MiB";

class BackupRun : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags) {
    server_ = std::make_unique<ServerProcess>(ServerProcess::Options{.flags = flags});
    Connect();
  }
  void Connect() {
    api_ = std::make_unique<Api>(server_->Connect());
    admin_ = admin_v1::AdminService::NewStub(server_->ConnectToAdmin());
  }
  std::vector<std::string> WithBackups(const std::vector<std::string>& more = {}) {
    std::vector<std::string> flags = {"--backup-dir", backups_, "--disk-floor", "0"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }

  Reply<admin_v1::BackupResponse> Backup() {
    grpc::ClientContext context;
    context.set_deadline(Soon());
    Reply<admin_v1::BackupResponse> reply;
    reply.status = admin_->Backup(&context, {}, &reply.response);
    return reply;
  }
  Finished Oncectl(const std::vector<std::string>& args) {
    Process::Command run{.argv = {ClientBinary()},
                         .env = {"ONCECTL_ADMIN_SERVER=" + server_->admin_address()}};
    run.argv.insert(run.argv.end(), args.begin(), args.end());
    return integration::Run(run);
  }
  Finished Restore(const std::vector<std::string>& args) {
    Process::Command run{.argv = {ServerBinary(), "restore"}};
    run.argv.insert(run.argv.end(), args.begin(), args.end());
    return integration::Run(run);
  }
  // Enough that a slow backup takes seconds.
  void Fill() {
    for (int i = 0; i < 8; ++i) {
      const std::string key = "filler-" + std::to_string(i);
      // Random, else it is compressed.
      std::string body;
      std::uint64_t state = static_cast<std::uint64_t>(i) + 1;
      while (body.size() < (std::size_t{1} << 19)) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        body.push_back(static_cast<char>(state >> 56));
      }
      api_->Commit(key, api_->Grant(key).token(), ResultOf(200, body));
    }
  }
  // A backup that is at work when this returns; its caller waits on the thread.
  std::thread BeginBackup(Reply<admin_v1::BackupResponse>& reply) {
    std::thread caller([&] { reply = Backup(); });
    Await("a backup that copies",
          [&] { return std::filesystem::exists(backups_ + "/UNVERIFIED"); });
    return caller;
  }

  const TempDir dir_;
  const std::string backups_ = dir_.Path("backups");
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<admin_v1::AdminService::Stub> admin_;
};

TEST_F(BackupRun, WhatWasAcknowledgedBeforeTheCutComesBack) {
  Start(WithBackups());
  const v1::Reservation held = api_->Grant("held", WithLease(absl::Hours(1)));
  const v1::Reservation done = api_->Grant("done", WithFingerprint("fp"));
  const v1::CommitResponse commit = api_->Commit("done", done.token(), AwkwardResult());
  const v1::Replay replay = api_->Reserve("done", WithFingerprint("fp")).replay();

  // Under load: what was acknowledged, and when, by the server's own time.
  std::atomic<bool> enough{false};
  std::atomic<int> commits{0};
  std::map<std::string, absl::Time> committed[2];
  const auto work = [&](int caller) {
    Api api(server_->Connect());
    for (int i = 0; !enough; ++i) {
      const std::string key = std::to_string(caller) + "-" + std::to_string(i);
      const v1::Reservation grant = api.Grant(key);
      api.Commit(key, grant.token(), ResultOf(200, key));
      committed[caller][key] = ToTime(api.Reserve(key).server_time());  // Later than the commit.
      ++commits;
    }
  };
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 2; ++caller) callers.emplace_back(work, caller);
  Await("load", [&] { return commits > 100; });
  const Finished backup = Oncectl({"backup", "--json"});
  const int during = commits;
  Await("load after it", [&] { return commits > during + 20; });
  enough = true;
  for (std::thread& caller : callers) caller.join();
  ASSERT_EQ(backup.exit_code, 0) << backup.out << backup.err;
  EXPECT_EQ(JsonText(backup.out, "backup_id"), "1");
  absl::Time cut;
  std::string error;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, JsonText(backup.out, "cut_time"), &cut, &error));
  const v1::Reservation after = api_->Grant("after");
  ASSERT_EQ(server_->Stop(), 0);
  EXPECT_THAT(server_->Log(), HasSubstr("\"event\":\"backup_made\""));

  server_->options().data_dir = dir_.Path("restored");
  const Finished restore = Restore({"--from", backups_, "--data-dir", dir_.Path("restored")});
  ASSERT_EQ(restore.exit_code, 0) << restore.err;
  for (const char* told : {"backup 1 of ", "cut_time:", "epoch:", "keys:", "fence_floor:"}) {
    EXPECT_THAT(restore.out, HasSubstr(told));
  }
  server_->Start();
  Connect();
  int checked = 0;
  for (const auto& caller : committed) {
    for (const auto& [key, acknowledged] : caller) {
      if (acknowledged >= cut) continue;
      ++checked;
      EXPECT_EQ(api_->Reserve(key).replay().result().body(), key);
    }
  }
  EXPECT_GT(checked, 50);
  EXPECT_TRUE(Same(api_->Reserve("done", WithFingerprint("fp")).replay(), replay));
  EXPECT_TRUE(api_->Commit("done", done.token(), AwkwardResult()).already_committed());
  EXPECT_TRUE(Same(replay.expire_time(), commit.expire_time()));

  EXPECT_EQ(api_->Reserve("held").outcome(), v1::OUTCOME_UNRESOLVED);
  const Error refused = api_->Commit(CommitOf("held", held.token(), ResultOf(200, "x"))).error();
  EXPECT_EQ(refused.code, grpc::ABORTED);
  EXPECT_EQ(refused.reason, "RESTORED");
  EXPECT_GT(api_->Grant("after").fence(), after.fence());
}

TEST_F(BackupRun, WithoutADirectoryItSaysWhichSettingIsMissing) {
  Start({});
  const Error error = Backup().error();
  EXPECT_EQ(error.code, grpc::FAILED_PRECONDITION);
  EXPECT_EQ(error.domain, "onced");
  EXPECT_EQ(error.reason, "BACKUP_NOT_CONFIGURED");
  EXPECT_THAT(error.message, HasSubstr("backup_dir"));
  const Finished run = Oncectl({"backup"});
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_THAT(run.err, HasSubstr("--backup-dir"));
}

TEST_F(BackupRun, ASecondOneAtATimeIsRefused) {
  Start(WithBackups({"--backup-rate", kSlow}));
  Fill();
  Reply<admin_v1::BackupResponse> first;
  std::thread caller = BeginBackup(first);
  const Error error = Backup().error();
  EXPECT_EQ(error.code, grpc::ABORTED);
  EXPECT_EQ(error.reason, "BACKUP_RUNNING");
  // Nobody else is kept from anything.
  EXPECT_EQ(api_->Reserve("k").outcome(), v1::OUTCOME_FRESH);
  // A stop ends it: its caller is told, and nothing is left of it.
  EXPECT_EQ(server_->Stop(), 0);
  caller.join();
  EXPECT_EQ(first.error().reason, "DRAINING");
  EXPECT_THAT(server_->Log(), HasSubstr("\"event\":\"backup_failed\""));
  EXPECT_TRUE(std::filesystem::is_empty(backups_ + "/meta"));
  EXPECT_FALSE(std::filesystem::exists(backups_ + "/UNVERIFIED"));
}

TEST_F(BackupRun, ACallerThatHangsUpLeavesItToGoOn) {
  Start(WithBackups({"--backup-rate", "2MiB"}));
  Fill();
  grpc::ClientContext context;
  admin_v1::BackupResponse response;
  std::thread caller(
      [&] { EXPECT_EQ(admin_->Backup(&context, {}, &response).error_code(), grpc::CANCELLED); });
  Await("a backup that copies", [&] { return std::filesystem::exists(backups_ + "/UNVERIFIED"); });
  context.TryCancel();
  caller.join();
  Await("its end", [&] { return server_->GetMetrics().at("idempotency_backup_time_seconds") > 0; });
  EXPECT_TRUE(std::filesystem::exists(backups_ + "/meta/1"));
}

TEST_F(BackupRun, KilledInItsMiddleTheNextOneIsGood) {
  Start(WithBackups({"--backup-rate", kSlow}));
  Fill();
  Reply<admin_v1::BackupResponse> first;
  std::thread caller = BeginBackup(first);
  server_->Kill9();
  caller.join();
  EXPECT_FALSE(first.ok());
  EXPECT_TRUE(std::filesystem::exists(backups_ + "/UNVERIFIED"));
  server_->options().flags = WithBackups();
  server_->Start();
  Connect();
  const admin_v1::BackupResponse second = Backup().value();
  EXPECT_GE(second.backup_id(), 1);
  EXPECT_GT(second.size_bytes(), 4 << 20);
  const Finished restore = Restore({"--from", backups_, "--data-dir", dir_.Path("restored")});
  EXPECT_EQ(restore.exit_code, 0) << restore.err;
}

TEST_F(BackupRun, ABackupIsSeenInTheMetrics) {
  Start(WithBackups());
  EXPECT_EQ(server_->GetMetrics().at("idempotency_backup_time_seconds"), 0);
  const admin_v1::BackupResponse made = Backup().value();
  Metrics metrics = server_->GetMetrics();
  EXPECT_NEAR(metrics.at("idempotency_backup_time_seconds"),
              absl::ToUnixMillis(ToTime(made.cut_time())) / 1e3, 0.01);
  EXPECT_GT(metrics.at("idempotency_backup_duration_seconds"), 0);
  EXPECT_EQ(metrics.at("idempotency_backup_size_bytes"), made.size_bytes());
  EXPECT_EQ(metrics.at("idempotency_backup_failures_total"), 0);
  server_->options().flags = WithBackups({"--disk-floor=1024GiB"});
  server_->options().flags.erase(server_->options().flags.begin() + 2,
                                 server_->options().flags.begin() + 4);
  server_->Restart();
  Connect();
  const Error error = Backup().error();
  EXPECT_EQ(error.code, grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.reason, "BACKUP_NO_SPACE");
  metrics = server_->GetMetrics();
  EXPECT_EQ(metrics.at("idempotency_backup_failures_total"), 1);
  EXPECT_GT(metrics.at("idempotency_backup_time_seconds"), 0) << "from before the restart";
}

TEST_F(BackupRun, AClockWithoutAStepIsAccepted) {
  Start({});
  grpc::ClientContext context;
  admin_v1::AcceptClockResponse response;
  ASSERT_TRUE(admin_->AcceptClock(&context, {}, &response).ok());
  EXPECT_EQ(ToDuration(response.step()), absl::ZeroDuration());
  EXPECT_NEAR(absl::ToDoubleSeconds(ToTime(response.server_time()) - absl::Now()), 0, 60);
  const Finished run = Oncectl({"clock", "accept"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("step:        0\n"));
}

// ---- Where the admin service is, and where it isn't ----

TEST_F(BackupRun, TheAdminServiceIsOnItsOwnPortAlone) {
  Start({});
  grpc::ClientContext context;
  admin_v1::BackupResponse response;
  const auto elsewhere = admin_v1::AdminService::NewStub(server_->Connect());
  EXPECT_EQ(elsewhere->Backup(&context, {}, &response).error_code(), grpc::UNIMPLEMENTED);
  Api api(server_->ConnectToAdmin());
  EXPECT_EQ(api.Reserve(ReserveOf("k")).error().code, grpc::UNIMPLEMENTED);
}

TEST_F(BackupRun, TheAdminServiceCanBeOff) {
  const Finished run = integration::Run(
      {.argv = {ServerBinary(), "--data-dir", dir_.Path("a"), "--admin-listen", "0.0.0.0:0"}});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("loopback"));
  Process server({.argv = {ServerBinary(), "--data-dir", dir_.Path("b"), "--listen", "127.0.0.1:0",
                           "--http-listen", "127.0.0.1:0", "--admin-listen", "off"}});
  const auto serving = server.err().AwaitLine("\"event\":\"serving\"");
  ASSERT_TRUE(serving.has_value());
  EXPECT_EQ(JsonText(*serving, "admin_listen"), "off");
}

// ---- The restore's command line ----

TEST_F(BackupRun, WhatCanNotBePrintedIsAFailure) {
  const Finished run = integration::Run(
      {.argv = {"/bin/sh", "-c", "exec \"$0\" restore --help >/dev/full", ServerBinary()}});
  EXPECT_EQ(run.exit_code, 1) << run.err;
}

TEST_F(BackupRun, ARestoreSaysWhyNot) {
  const std::string data = dir_.Path("data");
  const auto expect = [&](int code, const std::vector<std::string>& args, const std::string& why) {
    const Finished run = Restore(args);
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(why));
    EXPECT_EQ(run.out, "");
  };
  expect(2, {}, "--from: is required");
  expect(2, {"--from", backups_, "--data-dir", data, "--fence-floor", "4611686018427387904"},
         "fence-floor");
  expect(2, {"--from", backups_, "--data-dir", data, "--backup-id", "0"}, "backup-id");
  expect(2, {"--frm", backups_}, "no such flag");
  expect(3, {"--from", backups_, "--data-dir", data}, "there is no backup in it");
  EXPECT_FALSE(std::filesystem::exists(data));
  Start(WithBackups());
  Backup().value();
  expect(3, {"--from", backups_, "--data-dir", server_->data_dir()}, server_->data_dir());
  expect(3, {"--from", backups_, "--data-dir", data, "--backup-id", "9"}, "no backup 9");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(backups_)) {
    if (entry.path().filename() == "CURRENT") std::filesystem::resize_file(entry.path(), 3);
  }
  expect(4, {"--from", backups_, "--data-dir", data}, "CURRENT");
  const Finished help = Restore({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--fence-floor"));
}

}  // namespace
}  // namespace onced::integration
