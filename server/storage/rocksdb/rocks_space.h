// The space that a store's files take, and how to get some of it back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/storage/unit_of_work.h"

namespace onced {

struct RocksDatabase;

// Part of a shard: the files between two keys, of which none reaches beyond them.
// Rewriting them touches no other file.
struct SpacePiece {
  ShardId shard;
  std::string from;  // The first and the last key, both within.
  std::string to;
  std::uint64_t bytes = 0;
  std::uint64_t useless_bytes = 0;  // An estimate: what a rewrite would not write again.
  std::vector<std::string> paths;   // Of the files.

  double useless_share() const {
    return bytes == 0 ? 0 : static_cast<double>(useless_bytes) / static_cast<double>(bytes);
  }
};

// Threads:  Stop() from any; all else from one at a time.
// Lifetime: `database` outlives it.
// Promise:  what is alive is written again as it was, before what held it goes.
class RocksSpace {
 public:
  explicit RocksSpace(RocksDatabase& database);

  std::uint32_t shards() const;

  // Writes to files what has been in memory since the last call, of every
  // family: what is there can't be reclaimed, and keeps the log.
  absl::Status FlushIdle();
  // All of a shard's files, in pieces in the order of keys, as small as can be.
  // Files without a sample count as useless: to rewrite them gives them one.
  absl::StatusOr<std::vector<SpacePiece>> Look(ShardId shard) const;
  // Reads the piece's files, and finds the damage at which a rewrite would end the
  // whole store: RocksDB takes no more writes then. DATA_LOSS, which names the
  // file, UNAVAILABLE if reading fails, CANCELLED after Stop(). Files that went
  // since Look() are none of the piece any more.
  absl::Status Verify(const SpacePiece& piece) const;
  // Of what was verified. CANCELLED after Stop(); nothing has changed then.
  absl::Status Rewrite(const SpacePiece& piece);
  // Of a shard's files, now.
  std::uint64_t BytesOf(ShardId shard) const;

  void SetRate(std::uint64_t bytes_per_second);
  // For ever: ends a rewrite that is under way, and refuses others.
  void Stop();

 private:
  absl::Status FlushIfIdle(std::size_t family);

  RocksDatabase& database_;
  std::atomic<bool> stopped_ = false;  // RocksDB looks at it, too.
  // Of each family, the default one last: what its memory held at the last call
  // of FlushIdle().
  std::vector<std::uint64_t> entries_before_;
};

}  // namespace onced
