#include "server/rpc/admin_service.h"

#include <atomic>
#include <future>
#include <memory>
#include <set>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "server/rpc/admin_translate.h"
#include "server/rpc/errors.h"
#include "tests/unit/rpc/admin_fixture.h"

namespace onced {
namespace {

using rpc_test::ReasonOf;
using Serving = rpc_test::AdminServing;

// One call of Backup.
class BackupCall {
 public:
  void Begin(admin_v1::AdminService::Stub& stub) {
    stub.async()->Backup(&context_, &request_, &response_,
                         [this](grpc::Status status) { finished_.set_value(std::move(status)); });
  }
  std::string Reason() { return ReasonOf(finished_.get_future().get()); }

 private:
  grpc::ClientContext context_;
  const admin_v1::BackupRequest request_;
  admin_v1::BackupResponse response_;
  std::promise<grpc::Status> finished_;
};

TEST(AdminService, RequestStopEndsABackupAndDoesNotWaitForIt) {
  std::promise<void> begun;
  std::promise<void> stop_asked;
  std::promise<void> go_on;
  std::atomic<bool> asked{false};
  Serving serving({.make_backup = [&](absl::Time) -> absl::StatusOr<BackupReport> {
                     begun.set_value();
                     stop_asked.get_future().wait();
                     go_on.get_future().wait();
                     return absl::CancelledError("the server is shutting down");
                   },
                   .stop_backup =
                       [&] {
                         if (!asked.exchange(true)) stop_asked.set_value();
                       }});
  BackupCall first;
  BackupCall second;
  BackupCall third;
  first.Begin(serving.stub());
  begun.get_future().wait();
  second.Begin(serving.stub());
  EXPECT_EQ(second.Reason(), "BACKUP_RUNNING");
  serving.service().RequestStop();  // Would never return, if it waited.
  EXPECT_TRUE(asked);
  third.Begin(serving.stub());
  EXPECT_EQ(third.Reason(), "DRAINING");
  go_on.set_value();
  serving.service().Stop();
  EXPECT_EQ(first.Reason(), "DRAINING");
}

TEST(AdminService, WithoutADirectoryThereAreNoBackups) {
  Serving serving({});
  BackupCall call;
  call.Begin(serving.stub());
  EXPECT_EQ(call.Reason(), "BACKUP_NOT_CONFIGURED");
}

TEST(AdminService, TellsTheStepThatItAccepted) {
  Serving serving({});
  grpc::ClientContext context;
  admin_v1::AcceptClockResponse response;
  ASSERT_TRUE(serving.stub().AcceptClock(&context, {}, &response).ok());
  EXPECT_EQ(response.step().seconds(), 0);
  EXPECT_GT(response.server_time().seconds(), 1'700'000'000);
}

// The caller is gone, and its call stays until the backup has ended.
TEST(AdminService, ABackupOutlivesItsCaller) {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<int> made{0};
  Serving serving({.make_backup = [&](absl::Time) -> absl::StatusOr<BackupReport> {
    begun.set_value();
    go_on.get_future().wait();
    ++made;
    return BackupReport{.id = 1};
  }});
  grpc::ClientContext context;
  const admin_v1::BackupRequest request;
  admin_v1::BackupResponse response;
  std::promise<grpc::Status> finished;
  serving.stub().async()->Backup(&context, &request, &response, [&](grpc::Status status) {
    finished.set_value(std::move(status));
  });
  begun.get_future().wait();
  context.TryCancel();
  EXPECT_EQ(finished.get_future().get().error_code(), grpc::CANCELLED);
  go_on.set_value();
  serving.service().Stop();
  serving.served().server().Shutdown();
  EXPECT_EQ(made, 1);
}

TEST(AdminService, ABackupsReportIsTheAnswer) {
  const admin_v1::BackupResponse response =
      BackupResponseOf({.id = 4'000'000'000,
                        .cut_time = absl::FromUnixMicros(1'700'000'000'000'001),
                        .size_bytes = std::uint64_t{5} << 40,
                        .file_count = 7});
  EXPECT_EQ(response.backup_id(), 4'000'000'000);
  EXPECT_EQ(response.cut_time().seconds(), 1'700'000'000);
  EXPECT_EQ(response.cut_time().nanos(), 1'000);
  EXPECT_EQ(response.size_bytes(), std::int64_t{5} << 40);
  EXPECT_EQ(response.file_count(), 7);
}

const struct {
  absl::Duration step;
  std::int64_t seconds;
  std::int32_t nanos;
} kSteps[] = {
    {absl::ZeroDuration(), 0, 0},
    {absl::Milliseconds(1'500), 1, 500'000'000},
    {absl::Milliseconds(-1'500), -1, -500'000'000},
    {absl::Hours(24 * 3650), 315'360'000, 0},
};

TEST(AdminService, AStepIsToldWithItsSign) {
  for (const auto& row : kSteps) {
    const auto response = AcceptClockResponseOf(row.step, absl::FromUnixSeconds(7));
    EXPECT_EQ(response.step().seconds(), row.seconds) << row.step;
    EXPECT_EQ(response.step().nanos(), row.nanos) << row.step;
    EXPECT_EQ(response.server_time().seconds(), 7);
  }
}

const struct {
  AdminRefusal refusal;
  grpc::StatusCode code;
  const char* reason;
} kRefusals[] = {
    {AdminRefusal::kBackupNotConfigured, grpc::FAILED_PRECONDITION, "BACKUP_NOT_CONFIGURED"},
    {AdminRefusal::kBackupRunning, grpc::ABORTED, "BACKUP_RUNNING"},
    {AdminRefusal::kBackupDirUnfit, grpc::FAILED_PRECONDITION, "BACKUP_DIR_UNFIT"},
    {AdminRefusal::kBackupNoSpace, grpc::RESOURCE_EXHAUSTED, "BACKUP_NO_SPACE"},
    {AdminRefusal::kBackupDamaged, grpc::DATA_LOSS, "BACKUP_DAMAGED"},
    {AdminRefusal::kBackupFailed, grpc::UNAVAILABLE, "BACKUP_FAILED"},
    {AdminRefusal::kDraining, grpc::UNAVAILABLE, "DRAINING"},
    {AdminRefusal::kUnauthenticated, grpc::UNAUTHENTICATED, "UNAUTHENTICATED"},
    {AdminRefusal::kNotAllowed, grpc::PERMISSION_DENIED, "NOT_ALLOWED"},
    {AdminRefusal::kNamespaceNotAllowed, grpc::PERMISSION_DENIED, "NAMESPACE_NOT_ALLOWED"},
    {AdminRefusal::kBusy, grpc::RESOURCE_EXHAUSTED, "BUSY"},
};

TEST(AdminErrors, HaveACodeAReasonAndAMessage) {
  for (const auto& row : kRefusals) {
    const google::rpc::Status plain = ErrorOf(row.refusal);
    EXPECT_EQ(plain.code(), row.code) << row.reason;
    EXPECT_EQ(onced::ReasonOf(plain), row.reason);
    EXPECT_FALSE(plain.message().empty()) << row.reason;
    EXPECT_EQ(ErrorOf(row.refusal, "disk 7").message(), "disk 7");
  }
  constexpr int kOfTheLedger = 2;  // FENCE_MISMATCH and HELD: see errors_test.cc.
  EXPECT_EQ(static_cast<int>(std::size(kRefusals)) + kOfTheLedger + 1,
            admin_v1::ErrorReason_descriptor()->value_count());
}

TEST(AdminErrors, HaveRetryInfoWhereTheCodeSaysSo) {
  for (const auto& row : kRefusals) {
    bool retry = false;
    google::rpc::RetryInfo info;
    const auto error = ErrorOf(row.refusal, "disk 7");
    for (const auto& detail : error.details()) {
      if (!detail.UnpackTo(&info)) continue;
      retry = true;
      EXPECT_EQ(info.retry_delay().seconds(), row.refusal == AdminRefusal::kBusy ? 0 : 1)
          << row.reason;
    }
    EXPECT_EQ(retry, row.code == grpc::UNAVAILABLE || row.code == grpc::RESOURCE_EXHAUSTED)
        << row.reason;
  }
}

const struct {
  absl::Status failure;
  AdminRefusal want;
} kFailures[] = {
    {absl::FailedPreconditionError("x"), AdminRefusal::kBackupDirUnfit},
    {absl::ResourceExhaustedError("x"), AdminRefusal::kBackupNoSpace},
    {absl::DataLossError("x"), AdminRefusal::kBackupDamaged},
    {absl::CancelledError("x"), AdminRefusal::kDraining},
    {absl::UnavailableError("x"), AdminRefusal::kBackupFailed},
    {absl::InternalError("x"), AdminRefusal::kBackupFailed},
};

TEST(AdminErrors, OfABackupFollowItsStatus) {
  for (const auto& row : kFailures) EXPECT_EQ(RefusalOfBackup(row.failure), row.want);
}

}  // namespace
}  // namespace onced
