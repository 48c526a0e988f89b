// Where records live: an interface that a local disk, a test's memory, and a
// database shared by many servers can all keep.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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

// Part of a shard, and how much of it is to be read at once.
struct ScanRange {
  ShardId shard;
  std::string name_space;
  std::string key_prefix;
  std::string after;  // Only keys behind this one; empty: from the beginning.
  // At the first, it ends. Deleted records that are still on the disk count as well.
  std::size_t records_max = 0;
  std::size_t bytes_max = 0;  // Exceeded by one record at most.
};
struct Scanned {
  // Where to go on: after this key. nullopt: there are no more.
  std::optional<std::string> after;
  std::size_t records = 0;  // That were looked at.
  std::size_t bytes = 0;
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

  // Tells `visit` of the records in `range`, in the order of the bytes of their keys,
  // until it says false, which ends after that record. A record that can't be read is
  // told as DATA_LOSS; an error is returned if what follows can't be read at all.
  // Sees what is durable when it begins, or is a moment later, and nothing else: no
  // unit waits for it. Takes the longer the larger the range's bounds are, and no longer.
  using ScanVisitor =
      absl::FunctionRef<bool(const std::string& key, const absl::StatusOr<Record>& record)>;
  virtual absl::StatusOr<Scanned> Scan(const ScanRange& range, ScanVisitor visit) const = 0;

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
