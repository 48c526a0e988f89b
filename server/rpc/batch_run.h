// Several operations in execution.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/base/telemetry.h"
#include "server/rpc/batch.h"
#include "server/rpc/byte_budget.h"
#include "server/rpc/call.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/connection_waits.h"
#include "server/rpc/quotas.h"
#include "server/rpc/validate.h"
#include "server/shard/shard_set.h"

namespace onced {

// Those of a Batch, or of one message of a Session.
//
// Operation: Check(), Submit(), and once they are done Count() and Response(); or
//            Refused() alone.
// Threads:   Check() and Submit() on one; answers on several shards' threads at
//            once, each to its own outcome.
// Lifetime:  `done` may destroy it.
// Promise:   `done` is called exactly once, by whoever gives the last answer.
class BatchRun {
 public:
  using Operations = google::protobuf::RepeatedPtrField<idempotency::v1::Operation>;

  BatchRun(Method method, ShardSet& shards, Telemetry& telemetry, CallTrace trace)
      : shards_(shards),
        telemetry_(telemetry),
        method_(method),
        meter_(method, shards, telemetry),
        trace_(std::move(trace)) {}

  // Whether there are too few or too many of them.
  static std::optional<google::rpc::Status> CheckSize(const Operations& operations);

  // What memory they take: all of them settle reservations, or there is new work among them.
  static BytesFor UseOf(const Operations& operations);

  // How the Reserves among them wait.
  struct Waiting {
    // Whose waits they are; nullptr: one that would wait is refused.
    ConnectionShare* share = nullptr;
    // Else none is parked: a CONFLICT comes at once.
    bool may_park = false;
  };
  void Check(const Operations& operations, const Validator& validator, absl::Time deadline,
             Quotas& quotas, const Waiting& waiting);
  // Whether one of them may be parked.
  bool may_wait() const { return may_wait_; }
  // What was in order is executed. The tickets of those that may be parked.
  std::vector<ShardSet::Ticket> Submit(absl::AnyInvocable<void()> done);

  void Count();
  // See BatchResponseOf(). What large parts of it there is no room for is left out, and it
  // has its share when this returns.
  idempotency::v1::BatchResponse Response(std::size_t large_bytes_max, ByteShare& room) const;
  // Instead of all that: they were refused together.
  void Refused(const google::rpc::Status& error) {
    meter_.Failed(error, absl::ZeroDuration());
    if (trace_) trace_.End(error, shards_.Now());
  }

 private:
  // Makes a Reserve that can't be parked one that doesn't wait.
  bool ClaimsWait(Request& request, const Waiting& waiting);
  void Answered(std::uint32_t index, bool waited, Answer answer);
  // While others wait, what wouldn't fit into the reply anyway is not kept: a waiting
  // operation may take a minute. A grant is always kept.
  void KeepWithinReply(BatchOutcome& outcome);
  void OneLess();
  void Count(const BatchOutcome& outcome, absl::Duration latency);

  // Constant after construction.
  ShardSet& shards_;
  Telemetry& telemetry_;
  const Method method_;
  const CallMeter meter_;

  // Of Check(), and then of Count().
  CallTrace trace_;

  // Constant after Check() and Submit().
  ConnectionShare* share_ = nullptr;
  bool may_wait_ = false;
  std::vector<Request> requests_;
  std::string name_space_;  // Of the first of them.
  absl::AnyInvocable<void()> done_;

  // Each its own answer's.
  std::vector<BatchOutcome> outcomes_;
  std::atomic<std::size_t> kept_bytes_{0};  // Of results and records in them.
  // Operations not yet answered, and one more for Submit() itself.
  std::atomic<std::size_t> open_{1};
};

}  // namespace onced
