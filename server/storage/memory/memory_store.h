// A store in memory, for tests and simulations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/base/random.h"
#include "server/storage/store.h"

namespace onced {

// What a MemoryStore keeps when it is closed: a disk as tests see it. Holds the
// encoded bytes that a real disk would, so that a test may damage them, and so
// that what the codec cuts off is cut off here too.
//
// Threads: all functions from any thread.
class MemoryDisk {
 public:
  using Shard = std::map<std::string, std::string>;

  // Replaces a record's bytes.
  void Damage(ShardId shard, const RecordKey& key, std::string bytes) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class MemoryStore;

  absl::Time ClockMark() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<std::string, std::string> meta_ ABSL_GUARDED_BY(mutex_);
  std::vector<Shard> shards_ ABSL_GUARDED_BY(mutex_);
};

// Operation: every change is on the disk, and durable, when Run() returns.
// Threads:   as Store says. Holds the disk's lock for reads and writes, never
//            while it calls `body` or `durable`.
// Lifetime:  the disk outlives it; closing and opening again is a restart. Only
//            one at a time is open on a disk.
// Limits:    everything stays in memory for ever.
class MemoryStore final : public Store {
 public:
  struct Options {
    std::optional<std::uint32_t> shards;  // nullopt: as stored; 16 in a new store.
    absl::Duration restart_grace = absl::Seconds(15);
    absl::Time wall_now;  // The wall clock, at opening.
    Random& random;       // Of a new store's seed and epoch. Used while opening only.
  };
  // FAILED_PRECONDITION if the disk has another number of shards.
  static absl::StatusOr<std::unique_ptr<MemoryStore>> Open(MemoryDisk& disk,
                                                           const Options& options);

  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override;
  absl::StatusOr<Scanned> Scan(const ScanRange& range, ScanVisitor visit) const override;
  const StoreIdentity& identity() const override { return identity_; }
  const Outages& outages() const override { return outages_; }
  absl::Time clock_mark() const override;
  absl::Status RaiseClockMark(absl::Time mark) override;
  std::uint64_t EstimateKeys() const override;

 private:
  MemoryStore(MemoryDisk& disk, const StoreIdentity& identity, const Outages& outages)
      : disk_(disk), identity_(identity), outages_(outages) {}
  void Load(UnitOfWork& work);
  void Save(const UnitOfWork& work);
  // The first record behind `bound` that is in the range, as stored.
  std::optional<std::pair<std::string, std::string>> Next(const ScanRange& range,
                                                          const std::string& bound) const;

  // Constant after construction.
  MemoryDisk& disk_;
  const StoreIdentity identity_;
  const Outages outages_;
};

}  // namespace onced
