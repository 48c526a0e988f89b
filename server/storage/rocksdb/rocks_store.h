// The store on a local disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/backup_report.h"
#include "server/base/believed_clock.h"
#include "server/base/mutex.h"
#include "server/base/random.h"
#include "server/base/telemetry.h"
#include "server/storage/rocksdb/committer.h"
#include "server/storage/rocksdb/rocks_figures.h"
#include "server/storage/rocksdb/rocks_space.h"
#include "server/storage/rocksdb/unwritten.h"
#include "server/storage/store.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace onced {

struct BackupPlan;
struct RocksDatabase;
class WatermarkKeeper;

// Operation: one RocksDB in a directory of its own, with a column family for
//            each shard ("shard-0007") and what the store knows of itself in
//            the default one (codec/meta_codec.h). A unit of work that changed
//            something is in one write of one log: all of it survives, or nothing.
//            What is decided while the log is being synced shares the next sync.
// Threads:   as Store says: Run() for a given shard by one thread at a time,
//            all else from any thread. Run() reads from the disk but never waits
//            for a write, unless the committer has no room. `durable` is called on
//            the committer's thread, or before Run() returns where nothing has to
//            be waited for.
// Lifetime:  `Options::random` is used while opening only. The destructor must
//            not run beside any other call. It syncs what was written.
// Promise:   OK from `durable` means that the changes survive the loss of power
//            (kFsync) or of the process (kProcess). After a failed write, whose
//            outcome nobody knows, nothing is read, written or tried again: all
//            that follows is UNAVAILABLE until the store is opened anew. A store
//            whose log ends before what was durable does not open (Watermark).
// Limits:    its caches and write buffers stay within half of the memory
//            budget, so that the other half is left for the rest of the server.
class RocksStore final : public Store {
 public:
  enum class Durability : std::uint8_t {
    kFsync,    // Survives the loss of power.
    kProcess,  // Survives the end of the process, however it ends.
  };

  struct Options {
    std::string data_dir;                 // Made if missing, for its owner alone.
    std::optional<std::uint32_t> shards;  // nullopt: as stored; 16 in a new store.
    Durability durability = Durability::kFsync;
    std::size_t memory_budget_bytes = std::size_t{512} << 20;
    absl::Duration restart_grace = absl::Seconds(15);
    // LowOnSpace() while the file system has less than this left.
    std::uint64_t disk_floor_bytes = 0;
    // How long an expired record is kept at least, once compaction meets it.
    // More than the second by which the clock mark runs ahead of the clock.
    absl::Duration reclaim_grace = absl::Hours(1);
    // The wall clock, once all files are open, which takes its time: it ends the
    // outage. Without `time_source`, as of a test, it says `wall_now`.
    const TimeSource* time_source = nullptr;
    absl::Time wall_now;
    // Unless it is further ahead of the clock mark than this, or behind it: then
    // time goes on from the mark.
    absl::Duration max_downtime = absl::InfiniteDuration();
    Random& random;  // Of a new store's seed and epoch.
    // Told of each write to the log, by `time_source`; nullptr: nobody is. Both outlive it.
    Telemetry* telemetry = nullptr;
    // The file system beneath, for tests that make it fail; nullptr: the
    // machine's own. Outlives the store.
    rocksdb::Env* env = nullptr;
  };

  // Each failure is one line that names the directory. FAILED_PRECONDITION if
  // the directory can't be this store's as it is: other shards, in use, not
  // writable, something else in it, written by a newer version. DATA_LOSS if
  // the store in it is damaged. A store that was only half made, because the
  // process ended meanwhile, is made anew.
  static absl::StatusOr<std::unique_ptr<RocksStore>> Open(const Options& options);
  ~RocksStore() override;

  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override;
  // Not for long, and past the cache: what is listed is not what is used.
  absl::StatusOr<Scanned> Scan(const ScanRange& range, ScanVisitor visit) const override;
  const StoreIdentity& identity() const override { return identity_; }
  const Outages& outages() const override { return outages_; }
  absl::Time clock_mark() const override;
  // As durable as a unit of work is: in a store that may lose its last writes,
  // the mark may go with them, for all that was decided below it went as well.
  absl::Status RaiseClockMark(absl::Time mark) override ABSL_LOCKS_EXCLUDED(clock_mutex_);
  // Until it has ended, no file's space is given back.
  bool backing_up() const { return backing_up_; }
  // Asks the file system, each time: that costs a microsecond.
  bool LowOnSpace() const override { return FreeBytes() < disk_floor_bytes_; }
  // Left for this process's user; as much as can be told, if it can't be asked.
  std::uint64_t FreeBytes() const;
  std::uint64_t EstimateKeys() const override;
  // As RocksDB has it; costs microseconds, of a store with many files a few more.
  std::uint64_t Figure(RocksFigure figure) const;

  // UNAVAILABLE once a write has failed: nothing is to be tried any more.
  absl::Status FailedEarlier() const;
  // Whether files of so many bytes can be rewritten: what takes their place comes
  // before they go. Not at the cost of the floor. Below it, what hardly takes any
  // room may begin all the same, or a disk full of what has expired would stay so.
  bool HasRoomFor(std::uint64_t bytes) const;
  // One user at a time; see there. The store outlives it.
  RocksSpace space();

  // See MakeBackup(). Takes long; reads and writes go on.
  absl::StatusOr<BackupReport> Backup(const BackupPlan& plan, absl::Time cut_time,
                                      const std::atomic<bool>& stop);

 private:
  RocksStore(const Options& options, std::unique_ptr<RocksDatabase> database);

  // Of one shard, for whoever runs its units. On a cache line of its own: different
  // shards have different threads.
  struct alignas(64) ShardState {
    Fence last_fence;  // That was decided.
    Unwritten unwritten;
  };

  // The last ticket of what was found: all of it is durable when that is.
  Ticket Load(UnitOfWork& work);
  // Marks what was found before it was written, and names the others.
  Ticket LoadUnwritten(UnitOfWork& work, std::vector<std::size_t>& others);
  void Read(UnitOfWork& work, const std::vector<std::size_t>& which) const;
  void Save(UnitOfWork& work, Durable durable);
  // The status of a write, and the end of this store if it failed.
  absl::Status Wrote(absl::Status status);

  // Constant after construction.
  const bool sync_;
  const std::string directory_;
  const std::uint64_t disk_floor_bytes_;
  const StoreIdentity identity_;
  const Outages outages_;
  const std::unique_ptr<RocksDatabase> database_;

  std::atomic<bool> failed_ = false;
  std::atomic<bool> backing_up_ = false;

  std::vector<ShardState> shards_;

  std::unique_ptr<WatermarkKeeper> watermark_;

  Mutex clock_mutex_;  // Held while the mark is written, so that it only grows.
  std::atomic<std::int64_t> clock_mark_us_;

  Committer committer_;  // Last: its thread uses what is above.
};

}  // namespace onced
