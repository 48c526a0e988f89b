// A store's RocksDB, opened and checked; RocksStore works on it.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "rocksdb/db.h"
#include "server/storage/codec/store_meta.h"
#include "server/storage/rocksdb/file_changes.h"
#include "server/storage/rocksdb/reclaim_filter.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "server/storage/rocksdb/watermark.h"

namespace onced {

// Lifetime: closed from the end to the beginning: handles, database, filter, files.
struct RocksDatabase {
  using Family = std::unique_ptr<rocksdb::ColumnFamilyHandle>;

  explicit RocksDatabase(absl::Duration reclaim_grace) : filter(reclaim_grace) {}

  std::unique_ptr<rocksdb::Env> env;
  ReclaimFilter filter;
  // Shared with RocksDB, whose types ask for it.
  std::shared_ptr<FileChanges> file_changes = std::make_shared<FileChanges>();
  std::unique_ptr<rocksdb::DB> db;
  Family meta_family;
  std::vector<Family> shard_families;
  std::unique_ptr<Watermark> watermark;
  StoreMeta meta;  // As it was when opening had ended.
};

// Makes the store where there is none. The outage has ended when this returns,
// and that is durable.
absl::StatusOr<std::unique_ptr<RocksDatabase>> OpenRocksDatabase(
    const RocksStore::Options& options);

}  // namespace onced
