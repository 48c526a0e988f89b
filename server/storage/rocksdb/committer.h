// Writes what units of work changed, merged, one batch of the log at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "rocksdb/write_batch.h"
#include "server/base/believed_clock.h"
#include "server/base/mutex.h"
#include "server/base/telemetry.h"
#include "server/base/thread_role.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
}  // namespace rocksdb

namespace onced {

// A batch, by its number; zero: one that has long been durable.
struct Ticket {
  std::uint64_t value = 0;
  auto operator<=>(const Ticket&) const = default;
};

// Who is told how large each write was, and how long it took; nullptr: nobody.
struct WriteMeter {
  Telemetry* telemetry = nullptr;
  const TimeSource* time = nullptr;
};

// Operation: what is added while one batch is being written becomes the next one,
//            so that all who wait for the disk share its next sync, and nobody
//            who doesn't have to wait for it does.
// Threads:   Add() and WhenDurable() from any; the writing, and all who are told
//            later than at once, on a thread of its own.
// Lifetime:  what the constructor takes outlives it. The destructor writes what
//            was added.
// Promise:   what was added in one call is in one batch, and batches are written
//            in the order of their tickets. Everybody is told exactly once: those who
//            added in their order, and who asks after those who added before, as
//            long as nothing fails. Once a write has failed, nothing more is written,
//            and everybody is told so.
// Limits:    the batch that is being filled has at most kBytesMax, or what one call
//            added: who would add more waits until it is being written. Who is to be
//            told isn't counted. With a disk that hangs it is the clock mark that
//            stops everybody, within a second.
class Committer {
 public:
  // Must neither block for long nor call the committer.
  using Told = absl::AnyInvocable<void(const absl::Status&) &&>;
  // What RocksDB said to a write, as it is told; see RocksStore::Wrote().
  using AfterWrite = std::function<absl::Status(absl::Status)>;

  static constexpr std::size_t kBytesMax = std::size_t{8} << 20;

  struct Changes {
    rocksdb::WriteBatch records;
    // To the default column family. Of the same key in one batch, the last counts.
    std::vector<std::pair<std::string, std::string>> meta;
  };

  // `sync`: every write survives the loss of power.
  Committer(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& meta_family, bool sync,
            AfterWrite after_write, WriteMeter meter = {});
  ~Committer();

  // `told` is called once the changes are durable, or their write has failed.
  Ticket Add(const Changes& changes, Told told) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for changes that were added earlier: at once, where they are durable.
  void WhenDurable(Ticket ticket, Told told) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether they are, and RocksDB can be asked for them.
  bool IsDurable(Ticket ticket) const { return ticket.value <= durable_.load(); }
  // As far as that.
  Ticket durable() const { return {durable_.load()}; }
  // Waits for the disk.
  absl::Status AddAndWait(const Changes& changes) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Batch {
    Ticket ticket;
    // As rocksdb::WriteBatch::Data(): a head of 12 bytes, the second part of which
    // is the count, and the changes, which can be strung together.
    std::string records;
    std::uint32_t count = 0;
    absl::flat_hash_map<std::string, std::string> meta;
    std::vector<Told> told;

    bool empty() const { return told.empty(); }
    std::size_t bytes() const { return records.size(); }
  };

  void Run();
  // Units in the batch that is being filled.
  std::size_t Added() ABSL_LOCKS_EXCLUDED(mutex_);
  // False: stopping, and nothing is left.
  bool TakeBatch() RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Write() RUNS_ON(thread_);
  void Tell(const absl::Status& status) RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  void Append(const Changes& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  rocksdb::DB& db_;
  rocksdb::ColumnFamilyHandle& meta_family_;
  const bool sync_;
  const AfterWrite after_write_;
  const WriteMeter meter_;

  // Shared.
  std::atomic<std::uint64_t> durable_{0};
  Mutex mutex_;
  CondVar work_;
  CondVar room_;
  Batch filling_ ABSL_GUARDED_BY(mutex_);
  // Who asked for the batch that is being written.
  std::vector<Told> asked_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // Of the write that failed, if one did.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  // Its own thread only.
  ThreadRole thread_;
  Batch writing_ OWNED_BY(thread_);

  std::thread runner_;  // Last: starts once everything above exists.
};

}  // namespace onced
