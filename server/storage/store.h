// Where records live: an interface that a local disk, a test's memory, and a
// database shared by many servers can all keep.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/ledger/record.h"
#include "server/storage/unit_of_work.h"

namespace onced {

// Fixed when the store is made, and kept in it.
struct StoreIdentity {
  std::uint32_t shards = 0;
  std::array<std::uint8_t, 16> hash_seed{};  // Of the hash that maps keys to shards.
  Epoch epoch;
  bool operator==(const StoreIdentity&) const = default;
};

// Operation: reads the keys of a unit of work, lets the caller decide, writes
//            what it changed as one atomic batch, and tells when that is durable.
// Threads:   Run() for a given shard is never called by two threads at once;
//            all else from any thread.
// Promise:   a unit that follows another on the same shard sees its changes.
// Limits:    nothing here looks at the clock: expired records are returned.
class Store {
 public:
  using Body = absl::FunctionRef<void(UnitOfWork&)>;
  // OK: every change is durable, to the degree that the store was opened with.
  // Else nobody knows whether the changes survived, and the caller must say so.
  using Durable = absl::AnyInvocable<void(const absl::Status&) &&>;

  virtual ~Store() = default;

  // Calls `body` exactly once, on the calling thread, before it returns; then
  // `durable` exactly once, on any thread, perhaps after it returned. Records that
  // can't be read are marked so in `work`, and so are those of which the last
  // change isn't durable yet: it was decided by a unit that was not yet told.
  // A unit that changes nothing is durable once everything that it read is.
  virtual void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) = 0;

  // Constant after opening.
  virtual const StoreIdentity& identity() const = 0;
  virtual const Outages& outages() const = 0;

  // No decision may use a time above the mark; a store never resumes below it.
  virtual absl::Time clock_mark() const = 0;
  // Makes the mark at least `mark`, durably, before it returns.
  virtual absl::Status RaiseClockMark(absl::Time mark) = 0;

  // The disk is nearly full: what would grow the store is to be refused, so that
  // there is room for what settles it.
  virtual bool LowOnSpace() const { return false; }

  // Keys stored, expired ones included; an estimate.
  virtual std::uint64_t EstimateKeys() const = 0;
};

}  // namespace onced
