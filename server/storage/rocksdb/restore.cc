#include "server/storage/rocksdb/restore.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rocksdb/db.h"
#include "rocksdb/utilities/backup_engine.h"
#include "server/storage/codec/backup_label.h"
#include "server/storage/codec/restored_meta.h"
#include "server/storage/rocksdb/backup_check.h"
#include "server/storage/rocksdb/data_directory.h"
#include "server/storage/rocksdb/directory_lock.h"
#include "server/storage/rocksdb/plain_database.h"
#include "server/storage/rocksdb/rocks_meta.h"
#include "server/storage/rocksdb/rocks_status.h"
#include "server/storage/rocksdb/watermark.h"

namespace onced {
namespace {

// Links followed, as far as it is there, and with a slash at its end.
std::string RealPath(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(directory, error);
  return absl::StrCat(error ? AbsolutePath(directory) : real.string(), "/");
}

// The next backup would remove a store among the backups; a restore that is begun
// anew removes what is in the data directory.
absl::Status CheckApart(const RestoreOptions& options) {
  if (options.from.empty() || options.data_dir.empty()) return absl::OkStatus();
  const std::string from = RealPath(options.from);
  const std::string to = RealPath(AbsolutePath(options.data_dir));
  if (!absl::StartsWith(from, to) && !absl::StartsWith(to, from)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("data directory ", options.data_dir, ": must not be the backup directory ",
                   options.from, ", lie in it, or hold it: name another one"));
}

// One restore, step by step. Used once.
class Restorer {
 public:
  explicit Restorer(const RestoreOptions& options)
      : options_(options),
        env_(options.env != nullptr ? *options.env : *rocksdb::Env::Default()),
        where_(absl::StrCat("backup directory ", options.from)),
        lock_(env_) {}

  // 1. the backup is whole and may be restored, 2. copied to where no server
  // takes it for a store, 3. made another than the one that was backed up,
  // 4. durable, 5. a store.
  absl::StatusOr<RestoreReport> Restore() {
    absl::Status status = CheckApart(options_);
    if (status.ok()) status = OpenEngine();
    if (status.ok()) status = FindBackup();
    if (status.ok()) status = CheckIt();
    if (status.ok()) status = Begin();
    if (status.ok()) status = Copy();
    if (status.ok()) status = Renew();
    if (status.ok()) status = EndRestore(options_.data_dir);
    if (!status.ok()) return status;
    return report_;
  }

 private:
  absl::Status OpenEngine() {
    // RocksDB makes the directory, to find it empty.
    if (!env_.FileExists(absl::StrCat(options_.from, "/meta")).ok()) {
      return absl::NotFoundError(absl::StrCat(where_, ": there is no backup in it"));
    }
    const absl::Status listed = CheckLists(env_, options_.from);
    if (!listed.ok()) return listed;
    rocksdb::BackupEngineReadOnly* engine = nullptr;
    const rocksdb::Status opened = rocksdb::BackupEngineReadOnly::Open(
        rocksdb::BackupEngineOptions(options_.from, &env_), &env_, &engine);
    if (!opened.ok()) return FromBackup(options_.from, "can't be opened", opened);
    engine_.reset(engine);
    return absl::OkStatus();
  }

  // An older one is not silently taken for a newest that is damaged.
  absl::Status FindBackup() {
    std::vector<rocksdb::BackupID> all = AllBackups(*engine_);
    if (all.empty()) return absl::NotFoundError(absl::StrCat(where_, ": there is no backup in it"));
    std::sort(all.begin(), all.end());
    const rocksdb::BackupID id = options_.backup_id.value_or(all.back());
    if (std::find(all.begin(), all.end(), id) == all.end()) {
      return absl::NotFoundError(
          absl::StrCat(where_, ": there is no backup ", id, " in it; the newest is ", all.back()));
    }
    report_.backup_id = id;
    const rocksdb::Status found = engine_->GetBackupInfo(id, &info_);
    if (!found.ok()) return Damaged(found.ToString());
    const absl::StatusOr<BackupLabel> label = DecodeBackupLabel(info_.app_metadata);
    if (absl::IsDataLoss(label.status())) return Damaged(label.status().message());
    if (!label.ok()) return Here(label.status());
    label_ = *label;
    report_.cut_time = label_.cut_time;
    return absl::OkStatus();
  }

  absl::Status CheckIt() {
    const absl::StatusOr<StoreMeta> meta = CheckBackup(*engine_, report_.backup_id, label_);
    if (absl::IsDataLoss(meta.status())) return Damaged(meta.status().message());
    if (!meta.ok()) return Here(meta.status());
    const absl::StatusOr<Fence> floor = FenceFloorOf(Terms());
    if (!floor.ok()) return floor.status();
    absl::StatusOr<StoreMeta> renewed = RestoredMeta(*meta, Terms(), options_.random);
    if (!renewed.ok()) return Here(renewed.status());
    meta_ = *std::move(renewed);
    report_.old_epoch = meta->identity.epoch;
    report_.new_epoch = meta_.identity.epoch;
    report_.fence_floor = *floor;
    return absl::OkStatus();
  }

  RestoreTerms Terms() const {
    return {.cut_time = label_.cut_time,
            .wall_now = options_.wall_now,
            .fence_floor = options_.fence_floor};
  }

  absl::Status Begin() {
    const absl::Status usable = MakeDataDirectory(options_.data_dir);
    if (!usable.ok()) return usable;
    const rocksdb::Status locked = lock_.Take(options_.data_dir);
    if (!locked.ok()) return FromRocksOpen(options_.data_dir, locked);
    const absl::StatusOr<std::string> staging = BeginRestore(options_.data_dir);
    if (!staging.ok()) return staging.status();
    staging_ = *staging;
    return absl::OkStatus();
  }

  absl::Status Copy() {
    const rocksdb::Status copied = engine_->RestoreDBFromBackup(
        rocksdb::RestoreOptions(), report_.backup_id, staging_, staging_);
    if (copied.IsCorruption()) return Damaged(copied.ToString());
    return FromBackup(options_.from, "copying the backup", copied);
  }

  absl::Status Renew() {
    const absl::StatusOr<PlainDatabase> database =
        OpenPlain(env_, staging_, PlainAccess::kReadAndWrite);
    if (!database.ok()) return database.status();
    rocksdb::DB& db = *database->db;
    const absl::Status written = WriteRocksMeta(db, EncodeMeta(meta_));
    if (!written.ok()) return written;
    for (const auto& family : database->families) {
      std::uint64_t keys = 0;
      const bool of_records = family->GetName() != rocksdb::kDefaultColumnFamilyName;
      if (of_records &&
          db.GetIntProperty(family.get(), rocksdb::DB::Properties::kEstimateNumKeys, &keys)) {
        report_.keys += keys;
      }
    }
    return WriteWatermark(db.GetLatestSequenceNumber());
  }

  absl::Status WriteWatermark(std::uint64_t sequence) {
    const auto watermark = Watermark::Open(env_, staging_);
    if (!watermark.ok()) return watermark.status();
    return (*watermark)->Write({.sequence = sequence, .store = label_.store});
  }

  absl::Status Here(const absl::Status& status) const {
    return absl::Status(status.code(), absl::StrCat(where_, ": backup ", report_.backup_id, ": ",
                                                    status.message()));
  }
  absl::Status Damaged(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat(where_, ": backup ", report_.backup_id, " is damaged: ",
                                            what, ": name another one by --backup-id"));
  }

  const RestoreOptions& options_;
  rocksdb::Env& env_;
  const std::string where_;
  std::unique_ptr<rocksdb::BackupEngineReadOnly> engine_;
  rocksdb::BackupInfo info_;
  BackupLabel label_;
  StoreMeta meta_;  // As it is to be.
  DirectoryLock lock_;
  std::string staging_;
  RestoreReport report_;
};

}  // namespace

absl::StatusOr<RestoreReport> RestoreBackup(const RestoreOptions& options) {
  RestoreOptions from_root = options;
  if (!options.from.empty()) from_root.from = AbsolutePath(options.from);
  return Restorer(from_root).Restore();
}

}  // namespace onced
