#include "server/rpc/admin_service.h"

#include <utility>

#include "server/rpc/errors.h"
#include "server/rpc/proto_time.h"

namespace onced {

AdminService::~AdminService() { Stop(); }

grpc::ServerUnaryReactor* AdminService::Backup(grpc::CallbackServerContext* context,
                                               const admin_v1::BackupRequest* /*request*/,
                                               admin_v1::BackupResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (!options_.make_backup) {
    reactor->Finish(ToGrpc(ErrorOf(AdminRefusal::kBackupNotConfigured)));
    return reactor;
  }
  // The reactor and the response stay until Finish(), also if the caller is gone.
  const SoloWorker::Taken taken = worker_.TryRun([this, reactor, response] {
    const absl::StatusOr<BackupReport> report = MakeBackup();
    if (report.ok()) *response = BackupResponseOf(*report);
    reactor->Finish(
        report.ok() ? grpc::Status::OK
                    : ToGrpc(ErrorOf(RefusalOfBackup(report.status()), report.status().message())));
  });
  switch (taken) {
    case SoloWorker::Taken::kYes:
      break;
    case SoloWorker::Taken::kBusy:
      reactor->Finish(ToGrpc(ErrorOf(AdminRefusal::kBackupRunning)));
      break;
    case SoloWorker::Taken::kStopping:
      reactor->Finish(ToGrpc(ErrorOf(AdminRefusal::kDraining)));
      break;
  }
  return reactor;
}

absl::StatusOr<BackupReport> AdminService::MakeBackup() {
  const absl::Time cut_time = clock_.Now();  // Before the first byte is copied.
  absl::StatusOr<BackupReport> report = options_.make_backup(cut_time);
  const absl::Duration duration = clock_.Now() - cut_time;
  if (report.ok()) {
    telemetry_.BackupMade(*report, duration);
  } else {
    telemetry_.BackupFailed(report.status().message(), duration);
  }
  return report;
}

grpc::ServerUnaryReactor* AdminService::AcceptClock(grpc::CallbackServerContext* context,
                                                    const admin_v1::AcceptClockRequest* /*request*/,
                                                    admin_v1::AcceptClockResponse* response) {
  const absl::Duration step = clock_.Accept();
  if (step != absl::ZeroDuration()) telemetry_.ClockAccepted(step);
  *response = AcceptClockResponseOf(step, clock_.Now());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

void AdminService::RequestStop() {
  worker_.RequestStop();
  if (options_.stop_backup) options_.stop_backup();
}

void AdminService::Stop() {
  RequestStop();
  worker_.Stop();
}

admin_v1::BackupResponse BackupResponseOf(const BackupReport& report) {
  admin_v1::BackupResponse response;
  response.set_backup_id(report.id);
  Set(*response.mutable_cut_time(), report.cut_time);
  response.set_size_bytes(static_cast<std::int64_t>(report.size_bytes));
  response.set_file_count(static_cast<std::int64_t>(report.file_count));
  return response;
}

admin_v1::AcceptClockResponse AcceptClockResponseOf(absl::Duration step, absl::Time now) {
  admin_v1::AcceptClockResponse response;
  Set(*response.mutable_step(), step);
  Set(*response.mutable_server_time(), now);
  return response;
}

}  // namespace onced
