#include "server/storage/rocksdb/rocks_database.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rocksdb/cache.h"
#include "server/base/believed_clock.h"
#include "server/storage/rocksdb/data_directory.h"
#include "server/storage/rocksdb/durable_check.h"
#include "server/storage/rocksdb/ordered_files.h"
#include "server/storage/rocksdb/rocks_meta.h"
#include "server/storage/rocksdb/rocks_options.h"
#include "server/storage/rocksdb/rocks_status.h"
#include "server/storage/rocksdb/stall_relief.h"

namespace onced {
namespace {

using Family = RocksDatabase::Family;

std::string FamilyName(std::uint32_t shard) { return absl::StrFormat("shard-%04d", shard); }

bool IsEmpty(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator({}, family));
  at->SeekToFirst();
  return !at->Valid() && at->status().ok();
}

// Opens one directory, step by step. Used once.
class Opener {
 public:
  explicit Opener(const RocksStore::Options& options)
      : options_(options),
        where_(absl::StrCat("data directory ", options.data_dir)),
        plan_(PlanMemory(options.memory_budget_bytes)),
        cache_(rocksdb::NewLRUCache(plan_.cache_bytes)),
        db_options_(MakeDbOptions(plan_, cache_)),
        database_(std::make_unique<RocksDatabase>(options.reclaim_grace)) {
    const auto& files = (options.env != nullptr ? options.env : db_options_.env)->GetFileSystem();
    database_->env = rocksdb::NewCompositeEnv(std::make_shared<OrderedFiles>(files));
    db_options_.env = database_->env.get();
    db_options_.listeners.push_back(database_->file_changes);
    db_options_.listeners.push_back(std::make_shared<StallRelief>(database_->filter.pacer()));
  }

  // Nothing is written to a directory that may be somebody else's. A new store
  // gets its identity last: without one, it is made anew.
  absl::StatusOr<std::unique_ptr<RocksDatabase>> Open() {
    absl::Status status = PrepareDirectory(options_.data_dir);
    if (status.ok()) status = FindFamilies();
    if (status.ok()) status = CheckNothingIsMissing();
    if (status.ok()) status = OpenFamilies();
    if (!status.ok()) return status;
    absl::StatusOr<std::optional<StoreMeta>> meta = ReadStoredMeta();
    if (!meta.ok()) return meta.status();
    status = meta->has_value() ? ResumeStore(**std::move(meta)) : MakeStore();
    if (!status.ok()) return status;
    database_->filter.Start(database_->meta.identity.epoch, database_->meta.outages);
    database_->filter.AdvanceTo(database_->meta.clock_mark);
    return std::move(database_);
  }

 private:
  // ---- Before RocksDB is opened ----

  absl::Status FindFamilies() {
    if (!HoldsDatabase(options_.data_dir)) {
      db_options_.create_if_missing = true;
      names_ = {rocksdb::kDefaultColumnFamilyName};
      return CheckVacant(options_.data_dir);
    }
    const rocksdb::Status listed =
        rocksdb::DB::ListColumnFamilies(db_options_, options_.data_dir, &names_);
    if (!listed.ok()) return FromRocksOpen(options_.data_dir, listed);
    for (const std::string& name : names_) {
      if (name != rocksdb::kDefaultColumnFamilyName && !IsShardName(name)) return NotOurs();
    }
    return names_.size() == 1 ? CheckNoStranger() : absl::OkStatus();
  }

  static bool IsShardName(const std::string& name) {
    for (std::uint32_t shard = 0; shard < kShardsMax; ++shard) {
      if (name == FamilyName(shard)) return true;
    }
    return false;
  }

  // Of a RocksDB without any shard: ours, half made, if it is empty.
  absl::Status CheckNoStranger() {
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::OpenForReadOnly(rocksdb::Options(db_options_, {}), options_.data_dir, &opened);
    if (!status.ok()) return FromRocksOpen(options_.data_dir, status);
    const std::unique_ptr<rocksdb::DB> db(opened);
    return IsEmpty(*db, db->DefaultColumnFamily()) ? absl::OkStatus() : NotOurs();
  }

  absl::Status NotOurs() const {
    return absl::FailedPreconditionError(
        absl::StrCat(where_, ": holds a RocksDB that is not a store of onced: name another one"));
  }

  absl::Status CheckNothingIsMissing() {
    if (!HoldsDatabase(options_.data_dir)) return absl::OkStatus();
    const auto mode = CheckDurable(db_options_, options_.data_dir, Descriptors());
    if (mode.ok()) db_options_.wal_recovery_mode = *mode;
    return mode.status();
  }

  // ---- Opening ----

  // Stored, or to be made.
  std::uint32_t Shards() const {
    if (names_.size() > 1) return static_cast<std::uint32_t>(names_.size() - 1);
    return options_.shards.value_or(kShardsDefault);
  }

  rocksdb::ColumnFamilyOptions FamilyOptions(const std::string& name) {
    const bool has_records = name != rocksdb::kDefaultColumnFamilyName;
    return MakeFamilyOptions(WriteBufferBytes(plan_, Shards()), cache_,
                             has_records ? &database_->filter : nullptr);
  }

  std::vector<rocksdb::ColumnFamilyDescriptor> Descriptors() {
    std::vector<rocksdb::ColumnFamilyDescriptor> wanted;
    for (const std::string& name : names_) wanted.emplace_back(name, FamilyOptions(name));
    return wanted;
  }

  absl::Status OpenFamilies() {
    const std::vector<rocksdb::ColumnFamilyDescriptor> wanted = Descriptors();
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::Open(db_options_, options_.data_dir, wanted, &handles, &db);
    if (!status.ok()) return FromRocksOpen(options_.data_dir, status);
    database_->db.reset(db);
    for (rocksdb::ColumnFamilyHandle* handle : handles) families_[handle->GetName()].reset(handle);
    database_->meta_family =
        std::move(families_.extract(rocksdb::kDefaultColumnFamilyName).mapped());
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<StoreMeta>> ReadStoredMeta() {
    auto meta = ReadRocksMeta(*database_->db);
    if (!meta.ok()) return Here(meta.status());
    return meta;
  }

  absl::Status Here(const absl::Status& status) const {
    return absl::Status(status.code(), absl::StrCat(where_, ": ", status.message()));
  }

  absl::Time WallNow() const {
    return options_.time_source != nullptr ? options_.time_source->Read().wall : options_.wall_now;
  }

  // ---- A store that was there before ----

  absl::Status ResumeStore(StoreMeta meta) {
    const absl::Status same = CheckShards(options_.shards, meta.identity, where_);
    if (!same.ok()) return same;
    database_->meta = std::move(meta);
    if (!TakeFamilies()) {
      return absl::DataLossError(
          absl::StrCat(where_, ": damaged: the ", database_->meta.identity.shards,
                       " shards that it was made with are not the ones that are there"));
    }
    Resume(BelievedAtStart(WallNow(), database_->meta.clock_mark, options_.max_downtime),
           options_.restart_grace, database_->meta);
    const absl::Status opened = OpenWatermark();
    return opened.ok() ? WriteMeta(EncodeResumed(database_->meta)) : opened;
  }

  // Moves the handles of all shards in their order to the database.
  bool TakeFamilies() {
    for (std::uint32_t shard = 0; shard < database_->meta.identity.shards; ++shard) {
      const auto found = families_.find(FamilyName(shard));
      if (found == families_.end()) return false;
      database_->shard_families.push_back(std::move(found->second));
      families_.erase(found);
    }
    return families_.empty();
  }

  // ---- A new one, or one that was half made ----

  absl::Status MakeStore() {
    const std::uint32_t shards = options_.shards.value_or(kShardsDefault);
    absl::Status status = CheckNewShards(shards);
    if (status.ok()) status = DropHalfMade();
    if (status.ok()) status = CreateFamilies(shards);
    if (status.ok()) status = SyncEntries(options_.data_dir);
    if (!status.ok()) return status;
    database_->meta = NewMeta(shards, options_.random, WallNow());
    // Before the identity, since a store that has one must have a watermark.
    status = OpenWatermark();
    if (status.ok()) {
      status = database_->watermark->Write({.store = WatermarkStoreId(database_->meta.identity)});
    }
    return status.ok() ? WriteMeta(EncodeMeta(database_->meta)) : Here(status);
  }

  absl::Status OpenWatermark() {
    auto watermark = Watermark::Open(*db_options_.env, options_.data_dir);
    if (!watermark.ok()) return Here(watermark.status());
    database_->watermark = *std::move(watermark);
    return absl::OkStatus();
  }

  absl::Status DropHalfMade() {
    bool all_empty = IsEmpty(*database_->db, database_->meta_family.get());
    for (const auto& [name, family] : families_) {
      all_empty = all_empty && IsEmpty(*database_->db, family.get());
    }
    if (!all_empty) {
      return absl::DataLossError(
          absl::StrCat(where_, ": damaged: it holds data, but not what makes it a store"));
    }
    for (const auto& [name, family] : families_) {
      const rocksdb::Status dropped = database_->db->DropColumnFamily(family.get());
      if (!dropped.ok()) return Here(FromRocks("making the store", dropped));
    }
    families_.clear();
    return absl::OkStatus();
  }

  absl::Status CreateFamilies(std::uint32_t shards) {
    std::vector<std::string> names;
    for (std::uint32_t shard = 0; shard < shards; ++shard) names.push_back(FamilyName(shard));
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    const rocksdb::Status created =
        database_->db->CreateColumnFamilies(FamilyOptions(names.front()), names, &handles);
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      database_->shard_families.emplace_back(handle);
    }
    return created.ok() ? absl::OkStatus() : Here(FromRocks("making the store", created));
  }

  absl::Status WriteMeta(const MetaEntries& entries) {
    const absl::Status written = WriteRocksMeta(*database_->db, entries);
    return written.ok() ? written : Here(written);
  }

  const RocksStore::Options& options_;
  const std::string where_;
  const MemoryPlan plan_;
  const std::shared_ptr<rocksdb::Cache> cache_;  // Shared with RocksDB, whose types ask for it.
  rocksdb::DBOptions db_options_;
  std::vector<std::string> names_;  // Of the column families that are there.
  std::unique_ptr<RocksDatabase> database_;
  std::map<std::string, Family> families_;  // Not yet moved to `database_`. Gone before it.
};

}  // namespace

absl::StatusOr<std::unique_ptr<RocksDatabase>> OpenRocksDatabase(
    const RocksStore::Options& options) {
  return Opener(options).Open();
}

}  // namespace onced
