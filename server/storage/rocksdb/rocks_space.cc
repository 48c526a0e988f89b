#include "server/storage/rocksdb/rocks_space.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table.h"
#include "rocksdb/table_properties.h"
#include "server/storage/rocksdb/expiry_properties.h"
#include "server/storage/rocksdb/rocks_database.h"
#include "server/storage/rocksdb/rocks_status.h"

namespace onced {
namespace {

std::vector<rocksdb::SstFileMetaData> FilesOf(rocksdb::DB& db,
                                              rocksdb::ColumnFamilyHandle* family) {
  rocksdb::ColumnFamilyMetaData all;
  db.GetColumnFamilyMetaData(family, &all);
  std::vector<rocksdb::SstFileMetaData> files;
  for (rocksdb::LevelMetaData& level : all.levels) {
    std::move(level.files.begin(), level.files.end(), std::back_inserter(files));
  }
  return files;
}

// What each file is worth, by its name.
using Shares = std::map<std::string, double>;

absl::StatusOr<Shares> UselessShares(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                                     absl::Time expired_by) {
  rocksdb::TablePropertiesCollection all;
  const rocksdb::Status read = db.GetPropertiesOfAllTables(family, &all);
  if (!read.ok()) return FromRocks("reading what is in a shard's files", read);
  Shares shares;
  for (const auto& [path, properties] : all) {
    const std::optional<ExpirySample> sample = ExpirySampleOf(*properties);
    // None: an older version wrote it.
    shares[path.substr(path.rfind('/') + 1)] =
        sample.has_value() ? sample->UselessShare(expired_by) : 1;
  }
  return shares;
}

// All of its blocks, from the disk.
rocksdb::Status VerifyFile(rocksdb::Env& env, const std::string& path) {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  rocksdb::Options options;
  options.env = &env;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::SstFileReader reader(options);
  const rocksdb::Status opened = reader.Open(path);
  return opened.ok() ? reader.VerifyChecksum() : opened;
}

}  // namespace

RocksSpace::RocksSpace(RocksDatabase& database)
    : database_(database), entries_before_(database.shard_families.size() + 1) {}

std::uint32_t RocksSpace::shards() const {
  return static_cast<std::uint32_t>(database_.shard_families.size());
}

absl::Status RocksSpace::FlushIdle() {
  absl::Status status;
  for (std::size_t i = 0; status.ok() && i < entries_before_.size(); ++i) status = FlushIfIdle(i);
  return status;
}

// A memory that holds no less than the last time wasn't flushed meanwhile, or
// filled up again just as much.
absl::Status RocksSpace::FlushIfIdle(std::size_t family) {
  rocksdb::ColumnFamilyHandle* handle = family < database_.shard_families.size()
                                            ? database_.shard_families[family].get()
                                            : database_.meta_family.get();
  std::uint64_t entries = 0;
  database_.db->GetIntProperty(handle, rocksdb::DB::Properties::kNumEntriesActiveMemTable,
                               &entries);
  const std::uint64_t before = std::exchange(entries_before_[family], entries);
  if (before == 0 || entries < before) return absl::OkStatus();
  entries_before_[family] = 0;
  return FromRocks("flushing what was idle", database_.db->Flush({}, handle));
}

absl::StatusOr<std::vector<SpacePiece>> RocksSpace::Look(ShardId shard) const {
  rocksdb::ColumnFamilyHandle* family = database_.shard_families[shard.value].get();
  std::vector<rocksdb::SstFileMetaData> files = FilesOf(*database_.db, family);
  auto shares = UselessShares(*database_.db, family, database_.filter.expired_by());
  if (!shares.ok()) return shares.status();
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.smallestkey < b.smallestkey; });
  std::vector<SpacePiece> pieces;
  for (const rocksdb::SstFileMetaData& file : files) {
    if (pieces.empty() || pieces.back().to < file.smallestkey) {
      pieces.push_back({.shard = shard, .from = file.smallestkey, .to = file.largestkey});
    }
    SpacePiece& piece = pieces.back();
    piece.to = std::max(piece.to, file.largestkey);
    piece.bytes += file.size;
    piece.paths.push_back(absl::StrCat(file.directory, "/", file.relative_filename));
    // One that went between the two questions has none: it is somebody else's.
    piece.useless_bytes += static_cast<std::uint64_t>(static_cast<double>(file.size) *
                                                      (*shares)[file.relative_filename]);
  }
  return pieces;
}

absl::Status RocksSpace::Verify(const SpacePiece& piece) const {
  rocksdb::Env& env = *database_.db->GetEnv();
  for (const std::string& path : piece.paths) {
    if (stopped_) return absl::CancelledError("the sweeper was stopped");
    const rocksdb::Status status = VerifyFile(env, path);
    if (status.ok() || env.FileExists(path).IsNotFound()) continue;
    return FromRocks(absl::StrCat("reading ", path), status);
  }
  return absl::OkStatus();
}

absl::Status RocksSpace::Rewrite(const SpacePiece& piece) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;  // Shards that are written to go on as usual.
  // What is in the last level already, too, but nothing twice.
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = &stopped_;
  const rocksdb::Slice from = piece.from;
  const rocksdb::Slice to = piece.to;
  const rocksdb::Status status = database_.db->CompactRange(
      options, database_.shard_families[piece.shard.value].get(), &from, &to);
  if (status.IsManualCompactionPaused()) return absl::CancelledError("the sweeper was stopped");
  return FromRocks("rewriting what has expired", status);
}

std::uint64_t RocksSpace::BytesOf(ShardId shard) const {
  std::uint64_t bytes = 0;
  for (const auto& file : FilesOf(*database_.db, database_.shard_families[shard.value].get())) {
    bytes += file.size;
  }
  return bytes;
}

void RocksSpace::SetRate(std::uint64_t bytes_per_second) {
  database_.filter.pacer().SetRate(bytes_per_second);
}

// In this order: the rewrite that the pacer lets go of finds that it is to end, and
// the last step, which also ends one that has yet to begin, waits for it.
void RocksSpace::Stop() {
  stopped_ = true;
  database_.filter.pacer().Stop();
  database_.db->DisableManualCompaction();
}

}  // namespace onced
