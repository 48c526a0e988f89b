// The reply to a batch.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "google/rpc/status.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/ledger/policy.h"
#include "server/shard/request.h"

namespace onced {

// What became of one operation of a batch.
struct BatchOutcome {
  idempotency::v1::Operation::OperationCase kind = idempotency::v1::Operation::OPERATION_NOT_SET;
  bool include_result = false;  // Of an Inspect.
  std::variant<google::rpc::Status, Answer> answer;
};

// Of what can make its item large; an upper bound.
std::size_t LargePartBytes(const BatchOutcome& outcome);

// One item for each outcome, in their order, less than 4 MiB in all, of which
// results, records and checkpoints have at most `large_bytes_max`. Those that don't
// fit become errors for that reason; a grant is delivered in any case, if need be without
// its predecessor's checkpoint.
idempotency::v1::BatchResponse BatchResponseOf(
    const std::vector<BatchOutcome>& outcomes,
    std::size_t large_bytes_max = limits::kMessageBytesMax,
    Refusal left_out = Refusal::kReplyTooLarge);

}  // namespace onced
