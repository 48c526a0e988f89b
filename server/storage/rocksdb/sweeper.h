// Gives back the space of what has expired, in shards that nobody writes to as well.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/base/periodic_worker.h"
#include "server/base/telemetry.h"
#include "server/storage/rocksdb/rocks_space.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "server/storage/store.h"

namespace onced {

// Operation: a sweep 1. flushes what has been in memory since the last sweep;
//            2. raises the clock mark, by which the filter goes, since an idle
//            server's stands still; 3. rewrites those pieces of the shards' files
//            of which kUselessShareMin is of no use, one after another.
// Threads:   Sweep() on one, Stop() and the figures on any.
// Lifetime:  what the constructor takes outlives it.
// Promise:   a record goes only when ReclaimFilter says so: `reclaim_grace` after
//            its expiry, by the believed clock.
// Limits:    where less than that share has expired, the rest stays until more has.
//            No piece is begun that may need more room than there is, or that has
//            a damaged file: RocksDB would take no more writes after it.
class Sweep {
 public:
  // Below it, a rewrite would write three bytes for one that it gives back.
  static constexpr double kUselessShareMin = 0.25;
  // Neighbours are rewritten together up to this size, so that files don't become
  // ever smaller; it is also the room that a rewrite needs for a while.
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{128} << 20;

  // `disk` is what is swept; `store` is it, or what stands before it and hears of
  // failures.
  Sweep(RocksStore& disk, Store& store, const Clock& clock, Telemetry& telemetry,
        std::uint64_t bytes_per_second);

  // CANCELLED if it was stopped; DATA_LOSS if some of it was left alone since a file
  // is damaged, UNAVAILABLE if reading or writing failed, RESOURCE_EXHAUSTED if there was no room
  // for some. Either way it can be run again, and the store is none the worse for it.
  absl::Status Run();
  // For ever. Waits until a rewrite under way has ended, which is soon.
  void Stop();

  // After the last sweep: what is of no use and still there; an estimate.
  std::uint64_t useless_bytes() const { return useless_bytes_.load(); }
  // The beginning of 1970: none has ended yet.
  absl::Time last_ended() const { return absl::FromUnixMicros(last_ended_us_.load()); }

 private:
  // What a sweep had to leave.
  struct Left {
    std::uint64_t useless_bytes = 0;
    std::uint64_t for_want_of_room = 0;
    absl::Status unread;  // Why: of what is damaged, or else can't be read, the first.
  };

  absl::Status SweepShard(ShardId shard, Left& left);
  // Notes it; CANCELLED if that is what it is.
  static absl::Status Leave(const absl::Status& failure, Left& left);

  // Constant after construction.
  RocksStore& disk_;
  Store& store_;
  const Clock& clock_;
  Telemetry& telemetry_;

  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> useless_bytes_ = 0;
  std::atomic<std::int64_t> last_ended_us_ = 0;

  RocksSpace space_;  // Run()'s, but for Stop().
};

// Threads:  its own sweeps; figures from any.
// Lifetime: as Sweep. The destructor ends a sweep that is under way.
class Sweeper {
 public:
  // The first sweep begins after `interval`, each further one that long after the
  // end of the last.
  Sweeper(absl::Duration interval, Sweep& sweep, Telemetry& telemetry);
  ~Sweeper() { sweep_.Stop(); }

 private:
  Sweep& sweep_;
  PeriodicWorker worker_;
};

}  // namespace onced
