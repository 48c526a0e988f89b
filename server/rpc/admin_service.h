// The gRPC service for operators.
#pragma once

#include <grpcpp/grpcpp.h>

#include <array>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "idempotency/admin/v1/admin.grpc.pb.h"
#include "server/base/backup_report.h"
#include "server/base/believed_clock.h"
#include "server/base/solo_worker.h"
#include "server/base/telemetry.h"
#include "server/rpc/authenticator.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/unary_call.h"

namespace onced {

namespace admin_v1 = idempotency::admin::v1;

// Calls come by CallQueues.
using RawAdminService = admin_v1::AdminService::WithRawMethod_Backup<
    admin_v1::AdminService::WithRawMethod_AcceptClock<admin_v1::AdminService::Service>>;

// Operation: a backup runs on a thread of its own, one at a time. A call that
//            was cancelled leaves it to go on: who asks again is told that it
//            runs, and the log and the metrics say how it ended.
// Threads:   the call queue's, which is never blocked; RequestStop() and Stop() from
//            any other.
// Lifetime:  what is passed in outlives it. RequestStop() comes before the end
//            of the gRPC server that it is in: that waits for its calls.
class AdminService final : public RawAdminService {
 public:
  struct Options {
    // All that was acknowledged before `cut_time` has to be in it. Empty: there
    // are no backups.
    std::function<absl::StatusOr<BackupReport>(absl::Time cut_time)> make_backup;
    // Makes a running `make_backup` end soon.
    std::function<void()> stop_backup;
  };

  AdminService(Options options, const Authenticator& authenticator, BelievedClock& clock,
               Telemetry& telemetry);
  ~AdminService() override;  // Stops.

  // Serves the calls that come by this queue.
  void Accept(CallQueue& queue);

  // No backup is begun any more, and one that runs ends soon. Does not wait.
  void RequestStop();
  // The same; the call of the backup that ran is answered when this returns.
  void Stop();

 private:
  std::array<UnaryCall::Method, 2> MakeMethods();
  // Who called; if nobody who may do this, the call has been answered.
  std::optional<Caller> TakeCaller(UnaryCall& call) const;
  // Each replies, at once or later.
  void BeginBackup(UnaryCall& call);
  void BeginAcceptClock(UnaryCall& call);
  // On the worker's thread.
  absl::StatusOr<BackupReport> MakeBackup();

  // Constant after construction.
  const Options options_;
  const Authenticator& authenticator_;
  BelievedClock& clock_;
  Telemetry& telemetry_;
  const std::array<UnaryCall::Method, 2> methods_;

  SoloWorker worker_;  // Last: its job uses what is above.
};

// ---- As the API has it ----
admin_v1::BackupResponse BackupResponseOf(const BackupReport& report);
admin_v1::AcceptClockResponse AcceptClockResponseOf(absl::Duration step, absl::Time now);

}  // namespace onced
