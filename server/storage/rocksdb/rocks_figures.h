// What RocksDB says of its own state.
#pragma once

#include <cstdint>

namespace rocksdb {
class DB;
}  // namespace rocksdb

namespace onced {

enum class RocksFigure : std::uint8_t {
  // ---- Now ----
  kDelayedWriteRate,  // Bytes a second to which writes are slowed down; 0: they aren't.
  kWriteStopped,      // 1: they are stopped.
  kRunningCompactions,
  kRunningFlushes,
  kPendingCompactionBytes,  // An estimate.
  kBackgroundErrors,
  kLevel0Files,  // Of all shards.
  kMemtableBytes,
  kBlockCacheBytes,
  kBlockCacheCapacityBytes,
  kTableFilesBytes,
  kLogBytes,
  // ---- Since the store was opened ----
  kBlockCacheHits,
  kBlockCacheMisses,
  kStallMicros,  // For which writes had to wait.
  kCompactionReadBytes,
  kCompactionWrittenBytes,
  kFlushedBytes,
  kLogWrittenBytes,
};

// 0 for what RocksDB doesn't know. Threads: any.
std::uint64_t FigureOf(rocksdb::DB& db, RocksFigure figure);

}  // namespace onced
