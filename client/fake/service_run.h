// One run of the service, from a start to an end.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>

#include "absl/time/time.h"
#include "client/fake/ahead_of_time.h"
#include "client/fake/faults.h"
#include "client/fake/silent_audit_log.h"
#include "server/base/believed_clock.h"
#include "server/base/quiet_telemetry.h"
#include "server/base/random.h"
#include "server/ledger/operation.h"
#include "server/ledger/policy.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/authenticator.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/service.h"
#include "server/shard/shard_set.h"
#include "server/storage/memory/memory_store.h"

namespace onced::client {

// What server/serve.cc is to the real one: puts the parts together, and ends them in the same
// order. Without what a test has no use for: metrics, logs, identities, sweeps, backups.
//
// Threads:  any; the constructor and the destructor on one.
// Lifetime: all that the constructor takes outlives it.
class ServiceRun {
 public:
  struct Lasting {
    MemoryDisk& disk;
    AheadOfTime& time;
    const PolicyTable& policies;
    Faults& faults;
    int port;
    absl::Duration restart_grace;
  };

  explicit ServiceRun(const Lasting& lasting);
  ~ServiceRun();

  absl::Time Now() const { return clock_.Now(); }
  std::size_t waiters() const { return shards_.waiters(); }
  // Of this key, once it is executed: not a call, and neither counted nor sabotaged. After it,
  // everything has happened that was to happen until Now().
  Inspected Look(const RecordKey& key);

 private:
  class Hold;

  ServerStatus Status() const;

  SystemRandom random_;
  QuietTelemetry telemetry_;
  SilentAuditLog audit_log_;
  const Policy any_policy_{};
  const std::unique_ptr<MemoryStore> store_;
  BelievedClock clock_;
  const absl::Time start_time_;
  const Authenticator authenticator_;
  ShardSet shards_;
  IdempotencyService service_;
  AdminService admin_;
  std::unique_ptr<CallQueue> queue_;
  std::unique_ptr<Hold> hold_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace onced::client
