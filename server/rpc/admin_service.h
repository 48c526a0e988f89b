// The gRPC service for operators.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>

#include "absl/status/statusor.h"
#include "idempotency/admin/v1/admin.grpc.pb.h"
#include "server/base/backup_report.h"
#include "server/base/believed_clock.h"
#include "server/base/solo_worker.h"
#include "server/base/telemetry.h"

namespace onced {

namespace admin_v1 = idempotency::admin::v1;

// Operation: a backup runs on a thread of its own, one at a time. A call that
//            was cancelled leaves it to go on: who asks again is told that it
//            runs, and the log and the metrics say how it ended.
// Threads:   gRPC's, which are never blocked; RequestStop() and Stop() from any
//            other.
// Lifetime:  what is passed in outlives it. RequestStop() comes before the end
//            of the gRPC server that it is in: that waits for its calls.
class AdminService final : public admin_v1::AdminService::CallbackService {
 public:
  struct Options {
    // All that was acknowledged before `cut_time` has to be in it. Empty: there
    // are no backups.
    std::function<absl::StatusOr<BackupReport>(absl::Time cut_time)> make_backup;
    // Makes a running `make_backup` end soon.
    std::function<void()> stop_backup;
  };

  AdminService(Options options, BelievedClock& clock, Telemetry& telemetry)
      : options_(std::move(options)), clock_(clock), telemetry_(telemetry) {}
  ~AdminService() override;  // Stops.

  grpc::ServerUnaryReactor* Backup(grpc::CallbackServerContext* context,
                                   const admin_v1::BackupRequest* request,
                                   admin_v1::BackupResponse* response) override;
  grpc::ServerUnaryReactor* AcceptClock(grpc::CallbackServerContext* context,
                                        const admin_v1::AcceptClockRequest* request,
                                        admin_v1::AcceptClockResponse* response) override;

  // No backup is begun any more, and one that runs ends soon. Does not wait.
  void RequestStop();
  // The same; the call of the backup that ran is answered when this returns.
  void Stop();

 private:
  // On the worker's thread.
  absl::StatusOr<BackupReport> MakeBackup();

  // Constant after construction.
  const Options options_;
  BelievedClock& clock_;
  Telemetry& telemetry_;

  SoloWorker worker_;  // Last: its job uses what is above.
};

// ---- As the API has it ----
admin_v1::BackupResponse BackupResponseOf(const BackupReport& report);
admin_v1::AcceptClockResponse AcceptClockResponseOf(absl::Duration step, absl::Time now);

}  // namespace onced
