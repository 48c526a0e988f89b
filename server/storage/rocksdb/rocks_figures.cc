#include "server/storage/rocksdb/rocks_figures.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/statistics.h"

namespace onced {
namespace {

using Properties = rocksdb::DB::Properties;

// Of the whole database, asked of any family.
std::uint64_t PropertyOf(rocksdb::DB& db, const std::string& name) {
  std::uint64_t value = 0;
  return db.GetIntProperty(name, &value) ? value : 0;
}

// Of each family, added up.
std::uint64_t SumOf(rocksdb::DB& db, const std::string& name) {
  std::uint64_t value = 0;
  return db.GetAggregatedIntProperty(name, &value) ? value : 0;
}

std::uint64_t TickerOf(rocksdb::DB& db, rocksdb::Tickers ticker) {
  const auto& statistics = db.GetDBOptions().statistics;
  return statistics == nullptr ? 0 : statistics->getTickerCount(ticker);
}

// As the folder has them: RocksDB's own list of them holds up the deletion of files, and
// anybody may scrape.
std::uint64_t LogBytes(rocksdb::DB& db) {
  std::vector<rocksdb::Env::FileAttributes> files;
  if (!db.GetEnv()->GetChildrenFileAttributes(db.GetName(), &files).ok()) return 0;
  std::uint64_t bytes = 0;
  for (const auto& file : files) bytes += absl::EndsWith(file.name, ".log") ? file.size_bytes : 0;
  return bytes;
}

// Each family is asked: the number isn't an integer property.
std::uint64_t Level0Files(rocksdb::DB& db) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db.GetLiveFilesMetaData(&files);
  std::uint64_t count = 0;
  for (const auto& file : files) count += file.level == 0 ? 1 : 0;
  return count;
}

}  // namespace

std::uint64_t FigureOf(rocksdb::DB& db, RocksFigure figure) {
  switch (figure) {
    case RocksFigure::kDelayedWriteRate:
      return PropertyOf(db, Properties::kActualDelayedWriteRate);
    case RocksFigure::kWriteStopped:
      return PropertyOf(db, Properties::kIsWriteStopped);
    case RocksFigure::kRunningCompactions:
      return PropertyOf(db, Properties::kNumRunningCompactions);
    case RocksFigure::kRunningFlushes:
      return PropertyOf(db, Properties::kNumRunningFlushes);
    case RocksFigure::kPendingCompactionBytes:
      return SumOf(db, Properties::kEstimatePendingCompactionBytes);
    case RocksFigure::kBackgroundErrors:
      return PropertyOf(db, Properties::kBackgroundErrors);
    case RocksFigure::kLevel0Files:
      return Level0Files(db);
    case RocksFigure::kMemtableBytes:
      return SumOf(db, Properties::kCurSizeAllMemTables);
    case RocksFigure::kBlockCacheBytes:
      return PropertyOf(db, Properties::kBlockCacheUsage);
    case RocksFigure::kBlockCacheCapacityBytes:
      return PropertyOf(db, Properties::kBlockCacheCapacity);
    case RocksFigure::kTableFilesBytes:
      return SumOf(db, Properties::kLiveSstFilesSize);
    case RocksFigure::kLogBytes:
      return LogBytes(db);
    case RocksFigure::kBlockCacheHits:
      return TickerOf(db, rocksdb::BLOCK_CACHE_HIT);
    case RocksFigure::kBlockCacheMisses:
      return TickerOf(db, rocksdb::BLOCK_CACHE_MISS);
    case RocksFigure::kStallMicros:
      return TickerOf(db, rocksdb::STALL_MICROS);
    case RocksFigure::kCompactionReadBytes:
      return TickerOf(db, rocksdb::COMPACT_READ_BYTES);
    case RocksFigure::kCompactionWrittenBytes:
      return TickerOf(db, rocksdb::COMPACT_WRITE_BYTES);
    case RocksFigure::kFlushedBytes:
      return TickerOf(db, rocksdb::FLUSH_WRITE_BYTES);
    case RocksFigure::kLogWrittenBytes:
      return TickerOf(db, rocksdb::WAL_FILE_BYTES);
  }
  __builtin_unreachable();
}

}  // namespace onced
