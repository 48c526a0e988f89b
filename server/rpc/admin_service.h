// The gRPC service for operators.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "idempotency/admin/v1/admin.grpc.pb.h"
#include "server/base/audit.h"
#include "server/base/backup_report.h"
#include "server/base/believed_clock.h"
#include "server/base/mutex.h"
#include "server/base/solo_worker.h"
#include "server/base/telemetry.h"
#include "server/ledger/policy.h"
#include "server/rpc/admin_validate.h"
#include "server/rpc/answer_worker.h"
#include "server/rpc/audited.h"
#include "server/rpc/authenticator.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/namespace_pages.h"
#include "server/rpc/server_status.h"
#include "server/rpc/unary_call.h"
#include "server/shard/shard_set.h"

namespace onced {

namespace admin_v1 = idempotency::admin::v1;

// Calls come by CallQueues.
using RawAdminService = admin_v1::AdminService::WithRawMethod_List<
    admin_v1::AdminService::WithRawMethod_Resolve<admin_v1::AdminService::WithRawMethod_Evict<
        admin_v1::AdminService::WithRawMethod_EvictNamespace<
            admin_v1::AdminService::WithRawMethod_Status<
                admin_v1::AdminService::WithRawMethod_Backup<
                    admin_v1::AdminService::WithRawMethod_AcceptClock<
                        admin_v1::AdminService::Service>>>>>>>;

// Operation: a backup runs on a thread of its own, one at a time. A call that
//            was cancelled leaves it to go on: who asks again is told that it
//            runs, and the log and the metrics say how it ended. Lists have threads
//            of their own as well; what settles a record goes through its shard, and is
//            written to the audit log and answered by another thread than that.
// Threads:   the call queue's, which is never blocked; RequestStop() and Stop() from
//            any other.
// Lifetime:  what is passed in outlives it. RequestStop() comes before the end
//            of the gRPC server that it is in: that waits for its calls.
// Promise:   each call that changes something is in the audit log before it is answered.
class AdminService final : public RawAdminService {
 public:
  struct Options {
    // All that was acknowledged before `cut_time` has to be in it. Empty: there
    // are no backups.
    std::function<absl::StatusOr<BackupReport>(absl::Time cut_time)> make_backup;
    // Makes a running `make_backup` end soon.
    std::function<void()> stop_backup;
    // The newest there is.
    std::optional<BackupReport> last_backup;
    std::function<ServerStatus()> status;
  };
  struct Server {
    const Authenticator& authenticator;
    ShardSet& shards;
    Store& store;
    const PolicyTable& policies;
    BelievedClock& clock;
    Telemetry& telemetry;
    AuditLog& audit_log;
  };

  AdminService(Options options, const Server& server);
  ~AdminService() override;  // Stops.

  // Serves the calls that come by this queue.
  void Accept(CallQueue& queue);

  // No backup is begun any more, and one that runs ends soon. Does not wait.
  void RequestStop();
  // The same; what ran is answered when this returns, and no list is begun any more.
  void Stop();

 private:
  std::vector<UnaryCall::Method> MakeMethods();
  // Each replies, at once or later.
  void BeginBackup(UnaryCall& call);
  void BeginAcceptClock(UnaryCall& call);
  void BeginResolve(UnaryCall& call);
  void BeginEvict(UnaryCall& call);
  void BeginList(UnaryCall& call);
  void BeginEvictNamespace(UnaryCall& call);
  void BeginStatus(UnaryCall& call);

  // Who called. nullopt: nobody who is known, and the call has been answered.
  std::optional<Caller> Identify(UnaryCall& call, Audited& audit) const;
  // The same, and nobody who may do anything here; or what is about the whole server.
  std::optional<Caller> Admit(UnaryCall& call, Audited& audit) const;
  std::optional<Caller> AdmitForServer(UnaryCall& call, Audited& audit) const;
  // False: it isn't one, and the call has been answered.
  template <typename Message>
  static bool Takes(UnaryCall& call, Audited& audit, Message& message);
  // `encode` turns the answer of the shard into a response.
  template <typename Message, typename Encode>
  void Settle(UnaryCall& call, Audited audit, Encode encode);
  // On the worker's thread.
  absl::StatusOr<BackupReport> MakeBackup() ABSL_LOCKS_EXCLUDED(mutex_);

  // Constant after construction.
  const Options options_;
  const Authenticator& authenticator_;
  ShardSet& shards_;
  const Store& store_;
  BelievedClock& clock_;
  Telemetry& telemetry_;
  AuditLog& audit_log_;
  const PolicyTable& policies_;
  const std::vector<UnaryCall::Method> methods_;

  Mutex mutex_;
  std::optional<BackupReport> last_backup_ ABSL_GUARDED_BY(mutex_);

  // Last: their jobs use what is above.
  AnswerWorker answers_;
  NamespacePages pages_;
  SoloWorker worker_;
};

}  // namespace onced
