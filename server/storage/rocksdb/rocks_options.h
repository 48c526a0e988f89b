// How RocksDB is set up, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rocksdb/cache.h"
#include "rocksdb/options.h"
#include "server/storage/rocksdb/reclaim_filter.h"

namespace onced {

// How a memory budget is spent. Half of it is RocksDB's: one cache, to which
// blocks, indexes, filters and write buffers are all charged, the last with at
// most half of that. The other half is for what RocksDB doesn't count, for
// requests in flight and for the allocator's slack.
struct MemoryPlan {
  std::size_t cache_bytes = 0;
  std::size_t write_buffers_bytes = 0;  // Part of the cache.
};
MemoryPlan PlanMemory(std::size_t budget_bytes);
// Of one shard, when so many share the plan's.
std::size_t WriteBufferBytes(const MemoryPlan& plan, std::uint32_t shards);

// `cache` is the plan's cache, one for all.
rocksdb::DBOptions MakeDbOptions(const MemoryPlan& plan, std::shared_ptr<rocksdb::Cache> cache);
// For records that are mostly looked up in vain. `filter` outlives the database;
// nullptr for the column family that holds no records.
rocksdb::ColumnFamilyOptions MakeFamilyOptions(std::size_t write_buffer_bytes,
                                               std::shared_ptr<rocksdb::Cache> cache,
                                               const ReclaimFilter* filter);

}  // namespace onced
