#include "server/storage/rocksdb/rocks_options.h"

#include <algorithm>
#include <cstdarg>
#include <memory>

#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"
#include "server/storage/rocksdb/expiry_properties.h"

namespace onced {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kBudgetBytesMin = 32 * kMiB;
constexpr std::size_t kWriteBufferBytesMin = 1 * kMiB;
constexpr std::size_t kWriteBufferBytesMax = 32 * kMiB;
constexpr int kOpenFilesMax = 512;
constexpr std::size_t kManifestBytesMax = 3 * kMiB;  // RocksDB sets aside 4.
constexpr double kBloomBitsPerKey = 10;

// RocksDB's own log. Its default one, a file in the directory, goes on writing
// after a write has failed: on a full disk, an assertion of Debian's build then
// ends the process. What matters comes back as a status.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

rocksdb::CompressionType BestCompression() {
  const auto supported = rocksdb::GetSupportedCompressions();
  const bool has_lz4 =
      std::find(supported.begin(), supported.end(), rocksdb::kLZ4Compression) != supported.end();
  return has_lz4 ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
}

}  // namespace

MemoryPlan PlanMemory(std::size_t budget_bytes) {
  const std::size_t cache_bytes = std::max(budget_bytes, kBudgetBytesMin) / 2;
  return {.cache_bytes = cache_bytes, .write_buffers_bytes = cache_bytes / 2};
}

std::size_t WriteBufferBytes(const MemoryPlan& plan, std::uint32_t shards) {
  return std::clamp(plan.write_buffers_bytes / std::max(shards, 1U), kWriteBufferBytesMin,
                    kWriteBufferBytesMax);
}

rocksdb::DBOptions MakeDbOptions(const MemoryPlan& plan, std::shared_ptr<rocksdb::Cache> cache) {
  rocksdb::DBOptions options;
  // The default mode drops acknowledged writes in silence when a bit has
  // flipped in the middle of the log. This one forgives a torn tail alone,
  // which is what a crash leaves behind.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // An error is final: whoever opens the store anew finds out what survived.
  options.max_bgerror_resume_count = 0;
  options.paranoid_checks = true;
  // One idle shard would keep the whole log otherwise. Also bounds the time
  // that recovery takes.
  options.max_total_wal_size = 256 * kMiB;
  options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(
      plan.write_buffers_bytes, std::move(cache), /*allow_stall=*/false);
  // One flush and two compactions: while the sweeper has RocksDB rewrite files,
  // a shard that is written to can still be compacted.
  options.max_background_jobs = 3;
  // It only grows, until a new one is begun: no further than what RocksDB sets
  // aside on the disk for it anyway.
  options.max_manifest_file_size = kManifestBytesMax;
  // Leaves descriptors for connections where the usual limit is 1,024.
  options.max_open_files = kOpenFilesMax;
  options.avoid_unnecessary_blocking_io = true;
  // One thread writes: what is there for several only costs.
  options.allow_concurrent_memtable_write = false;
  options.enable_write_thread_adaptive_yield = false;
  options.info_log = std::make_shared<NoLog>();
  // Counts and nothing else: neither times nor histograms, which would cost each read.
  options.statistics = rocksdb::CreateDBStatistics();
  options.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::ColumnFamilyOptions MakeFamilyOptions(std::size_t write_buffer_bytes,
                                               std::shared_ptr<rocksdb::Cache> cache,
                                               const ReclaimFilter* filter) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.cache_index_and_filter_blocks = true;  // Or they'd be outside of the budget.
  table.pin_l0_filter_and_index_blocks_in_cache = true;

  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = write_buffer_bytes;
  options.memtable_whole_key_filtering = true;
  options.memtable_prefix_bloom_size_ratio = 0.01;
  // A new key is the usual case, so the last level's filter earns its keep.
  options.optimize_filters_for_hits = false;
  options.compression = BestCompression();
  options.level_compaction_dynamic_level_bytes = true;
  if (filter != nullptr) {
    options.compaction_filter_factory = MakeReclaimFilterFactory(*filter);
    options.table_properties_collector_factories.push_back(MakeExpiryCollectorFactory(*filter));
  }
  // Neither is reliable for a shard that is idle, and the second wants every
  // file kept open. The sweeper gives space back.
  options.ttl = 0;
  options.periodic_compaction_seconds = 0;
  return options;
}

}  // namespace onced
