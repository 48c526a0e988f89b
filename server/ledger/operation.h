// What can be asked of a key, already validated, and what can be answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "server/base/trace_ref.h"
#include "server/ledger/record.h"
#include "server/ledger/token.h"

namespace onced {

struct ReserveOp {
  std::string fingerprint;
  std::string request_id;
  std::string owner;
  absl::Duration lease_ttl;
  absl::Duration wait_timeout;  // Zero: never parked.
  TraceRef trace;               // Of this call, if it is traced.
};
struct CommitOp {
  Token token;
  StoredResult result;
  // Clamped to the bounds in the record; nullopt takes their preset.
  std::optional<absl::Duration> retention_ttl;
  TraceRef trace;  // Of this call, if it is traced.
};
struct ReleaseOp {
  Token token;
};
struct ExtendOp {
  Token token;
  absl::Duration lease_ttl;
  std::optional<std::string> checkpoint;  // nullopt: keep the one that is there.
};
struct InspectOp {};

// ---- An operator's. They name the record that was looked at by its fence, where
// a holder proves itself by its token. ----
struct ResolveOp {
  // As in a Commit. nullopt: released.
  struct Settlement {
    StoredResult result;
    std::optional<absl::Duration> retention_ttl;
  };

  Fence fence;
  bool force = false;  // Also while the lease is running.
  std::optional<Settlement> commit;
};
struct EvictOp {
  Fence fence;
  bool force = false;
};

using Operation =
    std::variant<ReserveOp, CommitOp, ReleaseOp, ExtendOp, InspectOp, ResolveOp, EvictOp>;

// Why a call was not judged, or which rule it broke. Each has one row in
// server/rpc/errors.cc, which does not compile until a new one has.
enum class Refusal : std::uint8_t {
  // Broke a rule of section 3.
  kSuperseded,
  kRestored,
  kCommittedDifferently,
  kAlreadyCommitted,
  kNotReserved,
  kFenceMismatch,
  kHeld,
  // Could not be judged; nothing was done.
  kQueueFull,
  kDiskFull,
  kDraining,
  kStoreFailed,
  kDeadlinePassed,
  kCancelled,
  kNamespaceNotAllowed,
  kReplyTooLarge,
  kMemoryFull,
  kQuotaExceeded,
  // A write may or may not have survived.
  kOutcomeUnknown,
};

// ---- Answers to Reserve ----
struct Fresh {
  Token token;
  Fence fence;
  std::uint32_t attempt = 1;
  absl::Time lease_expire_time;
  std::optional<Previous> previous;
  std::string checkpoint;  // For whoever takes over; with `previous` only.
  bool operator==(const Fresh&) const = default;
};
struct Replayed {
  StoredResult result;
  absl::Time commit_time;
  absl::Time expire_time;
  Fence fence;
  TraceRef trace;  // The record's.
  bool operator==(const Replayed&) const = default;
};
struct Holder {
  State state = State::kPending;
  std::string owner;
  Fence fence;
  absl::Time reserve_time;
  std::optional<absl::Time> lease_expire_time;  // Not of a committed record.
  TraceRef trace;                               // The record's.
  bool operator==(const Holder&) const = default;
};
struct Conflict {
  Holder holder;
  absl::Duration retry_delay;
  bool operator==(const Conflict&) const = default;
};
struct Mismatch {
  Holder holder;
  bool operator==(const Mismatch&) const = default;
};
struct Unresolved {
  Holder holder;
  bool operator==(const Unresolved&) const = default;
};
// Never leaves the shard: the call waits, and is judged again at its wake-up.
struct Parked {
  bool operator==(const Parked&) const = default;
};

// ---- Answers to the others ----
struct CommitDone {
  absl::Time commit_time;
  absl::Time expire_time;
  bool already_committed = false;
  bool late = false;
  bool body_omitted = false;
  bool headers_omitted = false;
  bool operator==(const CommitDone&) const = default;
};
struct ReleaseDone {
  bool released = false;
  bool operator==(const ReleaseDone&) const = default;
};
struct ExtendDone {
  absl::Time lease_expire_time;
  bool operator==(const ExtendDone&) const = default;
};
struct Inspected {
  State state = State::kAbsent;
  // nullopt if and only if kAbsent. Without its secrets: token and request_id are blank.
  std::optional<Record> record;
  std::optional<absl::Time> lease_expire_time;  // Of a PENDING or LAPSED one, with grace.
  std::optional<absl::Time> expire_time;        // nullopt: never.
  bool operator==(const Inspected&) const = default;
};
struct ResolveDone {
  std::optional<CommitDone> committed;  // nullopt: released.
  bool operator==(const ResolveDone&) const = default;
};
struct EvictDone {
  State evicted = State::kAbsent;  // What the record was; kAbsent: there was none.
  bool operator==(const EvictDone&) const = default;
};
struct Refused {
  Refusal reason;
  // Of the record that was found, where one was.
  std::optional<State> state;
  std::optional<Fence> fence;
  bool operator==(const Refused&) const = default;
};

using Reply = std::variant<Fresh, Replayed, Conflict, Mismatch, Unresolved, Parked, CommitDone,
                           ReleaseDone, ExtendDone, Inspected, ResolveDone, EvictDone, Refused>;

}  // namespace onced
