#include "server/storage/rocksdb/backup.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"
#include "rocksdb/rate_limiter.h"
#include "rocksdb/utilities/backup_engine.h"
#include "server/storage/codec/backup_label.h"
#include "server/storage/rocksdb/backup_check.h"
#include "server/storage/rocksdb/data_directory.h"
#include "server/storage/rocksdb/directory_lock.h"
#include "server/storage/rocksdb/stoppable_env.h"
#include "server/storage/rocksdb/watermark.h"

namespace onced {
namespace {

// Is there while a backup is not verified yet, and holds the number of the last
// one before it in decimal digits, and "\n": without that, "1" may be the half of
// "12".
constexpr char kUnverified[] = "UNVERIFIED";

std::string UnverifiedPath(const std::string& directory) {
  return absl::StrCat(directory, "/", kUnverified);
}

// What UNVERIFIED says.
struct Mark {
  bool present = false;
  std::optional<rocksdb::BackupID> last;  // nullopt: absent or torn.
};

std::optional<rocksdb::BackupID> ParseMark(absl::string_view text) {
  std::uint32_t last = 0;
  if (!absl::ConsumeSuffix(&text, "\n") || text.empty()) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), absl::ascii_isdigit)) return std::nullopt;
  if (!absl::SimpleAtoi(text, &last)) return std::nullopt;
  return last;
}

rocksdb::Status ReadMark(rocksdb::Env& env, const std::string& directory, Mark& mark) {
  rocksdb::Status status = env.FileExists(UnverifiedPath(directory));
  if (status.IsNotFound()) return rocksdb::Status::OK();
  std::string text;
  if (status.ok()) status = rocksdb::ReadFileToString(&env, UnverifiedPath(directory), &text);
  mark = {.present = true, .last = ParseMark(text)};
  return status;
}

// How often, in bytes copied, it is asked whether to go on.
constexpr std::uint64_t kStride = std::uint64_t{1} << 20;
// How evenly the rate is kept.
constexpr int kRefillUs = 100'000;

std::shared_ptr<rocksdb::RateLimiter> LimiterFor(std::uint64_t rate_bytes) {
  if (rate_bytes == 0) return nullptr;
  return std::shared_ptr<rocksdb::RateLimiter>(
      rocksdb::NewGenericRateLimiter(static_cast<std::int64_t>(rate_bytes), kRefillUs,
                                     /*fairness=*/10, rocksdb::RateLimiter::Mode::kAllIo));
}

// One backup, step by step. Used once.
class BackupMaker {
 public:
  // `plan` names its directory from the root.
  BackupMaker(rocksdb::DB& db, const StoreIdentity& identity, const BackupPlan& plan,
              absl::Time cut_time, const std::atomic<bool>& stop)
      : db_(db),
        plan_(plan),
        stop_(stop),
        label_{cut_time, WatermarkStoreId(identity), identity.epoch, identity.shards},
        limiter_(LimiterFor(plan.rate_bytes)),
        env_(*db.GetEnv(), stop),
        lock_(*db.GetEnv()) {}

  // 1. whose the directory is, 2. old ones go, 3. room is made sure of,
  // 4. copied, 5. verified, 6. what has become old goes, 7. told.
  absl::StatusOr<BackupReport> Make() {
    absl::Status status = PrepareBackupDirectory(plan_.directory);
    if (status.ok()) status = OpenEngine();
    if (status.ok()) status = DropUnverified();
    if (status.ok()) status = CheckOwner();
    // Before there has to be room: else a smaller backup_keep would never make it.
    if (status.ok()) PurgeOld();
    if (status.ok()) status = CheckSpace();
    if (status.ok()) status = CopyAndVerify();
    if (!status.ok()) {
      return stop_ ? absl::CancelledError("the server is shutting down") : status;
    }
    PurgeOld();
    return Report();
  }

 private:
  absl::Status OpenEngine() {
    const rocksdb::Status locked = lock_.Take(plan_.directory);
    if (!locked.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "backup directory ", plan_.directory, ": in use by another server: ", locked.ToString()));
    }
    const absl::Status listed = CheckLists(*db_.GetEnv(), plan_.directory);
    if (!listed.ok()) return listed;
    rocksdb::BackupEngineOptions options(plan_.directory, &env_);
    options.sync = true;
    options.backup_rate_limiter = limiter_;
    options.callback_trigger_interval_size = kStride;
    rocksdb::BackupEngine* engine = nullptr;
    const rocksdb::Status opened = rocksdb::BackupEngine::Open(options, db_.GetEnv(), &engine);
    if (!opened.ok()) return Failed("can't be opened", opened);
    engine_.reset(engine);
    return absl::OkStatus();
  }

  // Only when none is unverified. The newest always stays.
  void PurgeOld() {
    if (plan_.keep == 0) return;
    // Ignored: the next backup tries it again, and what is there is whole.
    engine_->PurgeOldBackups(plan_.keep).PermitUncheckedError();
  }

  // A crash may have come between the copy and its verdict.
  absl::Status DropUnverified() {
    Mark mark;
    rocksdb::Status status = ReadMark(*db_.GetEnv(), plan_.directory, mark);
    if (status.ok() && !mark.present) return absl::OkStatus();
    if (status.ok() && !mark.last.has_value()) {
      const absl::Status checked = CheckNewest();
      if (!checked.ok()) return checked;
    }
    for (const rocksdb::BackupID id : AllBackups(*engine_)) {
      if (mark.last.has_value() && id > *mark.last && status.ok()) {
        status = engine_->DeleteBackup(id);
      }
    }
    if (status.ok()) status = engine_->GarbageCollect();
    return status.ok() ? Verified() : Failed("removing what a crash left", status);
  }

  // For a torn mark. If a crash tore it, there was no copy yet, and all backups
  // are verified: none may go for it. If it was damaged later, the newest may be
  // unverified, and no other. So that one is verified now: nothing good is lost,
  // and nothing doubtful is taken for good.
  absl::Status CheckNewest() {
    rocksdb::BackupInfo newest;
    if (!engine_->GetLatestBackupInfo(&newest).ok()) return absl::OkStatus();
    const absl::StatusOr<BackupLabel> label = DecodeBackupLabel(newest.app_metadata);
    if (!label.ok()) return absl::OkStatus();  // CheckOwner() refuses it.
    const absl::StatusOr<StoreMeta> meta =
        CheckBackup(*engine_, newest.backup_id, *label, limiter_);
    if (meta.ok()) return absl::OkStatus();
    // What a stop interrupted looks damaged, perhaps.
    if (stop_ || !absl::IsDataLoss(meta.status())) {
      return absl::UnavailableError(absl::StrCat("backup directory ", plan_.directory,
                                                 ": verifying backup ", newest.backup_id, ": ",
                                                 meta.status().message()));
    }
    const rocksdb::Status deleted = engine_->DeleteBackup(newest.backup_id);
    return deleted.ok() ? absl::OkStatus() : Failed("removing what a crash left", deleted);
  }

  // One store, one directory; and of a store and one restored from it, one: else
  // the newest backup, which a restore takes, would be now the one's and now the
  // other's, and each would remove those of the other. A restored store goes on
  // where the store from before has stopped: its epoch is new there.
  absl::Status CheckOwner() const {
    rocksdb::BackupInfo newest;
    if (engine_->GetLatestBackupInfo(&newest).IsNotFound()) return absl::OkStatus();
    const absl::StatusOr<BackupLabel> label = DecodeBackupLabel(newest.app_metadata);
    if (!label.ok() || label->store != label_.store) {
      return absl::FailedPreconditionError(absl::StrCat(
          "backup directory ", plan_.directory, ": backup ", newest.backup_id, " in it is not of ",
          "this store: name a directory of this store's own as backup_dir"));
    }
    if (label->epoch == label_.epoch || !HoldsMyEpoch()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "backup directory ", plan_.directory, ": backup ", newest.backup_id,
        " in it is of another store that came from the same backups, as a restore makes one: "
        "name another directory as backup_dir, for one of the two"));
  }
  bool HoldsMyEpoch() const {
    std::vector<rocksdb::BackupInfo> whole;
    engine_->GetBackupInfo(&whole);
    return std::any_of(whole.begin(), whole.end(), [this](const rocksdb::BackupInfo& info) {
      const absl::StatusOr<BackupLabel> label = DecodeBackupLabel(info.app_metadata);
      return label.ok() && label->epoch == label_.epoch;
    });
  }

  absl::Status CheckSpace() const {
    const std::uint64_t needed = NewBytes() + plan_.reserve_bytes;
    const std::uint64_t free = FreeBytes();
    if (free >= needed) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("backup directory ", plan_.directory, ": ", free,
                     " bytes are free, and a backup takes ", NewBytes(), " beyond the ",
                     plan_.reserve_bytes, " of disk_floor: make room, or lower backup_keep"));
  }

  std::uint64_t FreeBytes() const {
    std::uint64_t bytes = 0;
    const rocksdb::Status asked = db_.GetEnv()->GetFreeSpace(plan_.directory, &bytes);
    return asked.ok() ? bytes : std::numeric_limits<std::uint64_t>::max();
  }

  // What is to be copied: data files that no backup has, and what is to become
  // one or stays in the log.
  std::uint64_t NewBytes() const {
    std::vector<rocksdb::LiveFileMetaData> files;
    db_.GetLiveFilesMetaData(&files);
    const std::set<std::string> there = FilesOfNewest();
    std::uint64_t bytes = 0;
    for (const rocksdb::LiveFileMetaData& file : files) {
      if (!there.contains(SharedName(file.name, file.size))) bytes += file.size;
    }
    std::uint64_t buffered = 0;
    db_.GetAggregatedIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &buffered);
    return bytes + 2 * buffered;
  }
  // "/000012.sst" of 345 bytes is "000012|345": the engine puts the session in
  // between, "shared_checksum/000012_sABC_345.sst".
  static std::string SharedName(const std::string& name, std::uint64_t size) {
    const std::size_t begin = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
    return absl::StrCat(name.substr(begin, name.find('.') - begin), "|", size);
  }
  std::set<std::string> FilesOfNewest() const {
    rocksdb::BackupInfo newest;
    std::set<std::string> names;
    if (!engine_->GetLatestBackupInfo(&newest, /*include_file_details=*/true).ok()) return names;
    for (const rocksdb::BackupFileInfo& file : newest.file_details) {
      const std::string& name = file.relative_filename;
      names.insert(SharedName(name.substr(0, name.find('_', name.rfind('/'))) + ".", file.size));
    }
    return names;
  }

  absl::Status CopyAndVerify() {
    const std::vector<rocksdb::BackupID> earlier = AllBackups(*engine_);
    const rocksdb::BackupID last =
        earlier.empty() ? 0 : *std::max_element(earlier.begin(), earlier.end());
    // Durable before the first byte is copied, and its name too.
    const rocksdb::Status marked =
        rocksdb::WriteStringToFile(db_.GetEnv(), absl::StrCat(last, "\n"),
                                   UnverifiedPath(plan_.directory), /*should_sync=*/true);
    if (!marked.ok()) return Failed("can't be written", marked);
    absl::Status status = SyncDirectory();
    if (!status.ok()) return status;
    status = Copy();
    if (status.ok()) status = Verify();
    if (status.ok()) return Verified();
    // Ignored: what can't be removed now is by the next backup, which the mark tells.
    if (id_ != 0) engine_->DeleteBackup(id_).PermitUncheckedError();
    if (engine_->GarbageCollect().ok()) Verified().IgnoreError();
    return status;
  }

  absl::Status Copy() {
    rocksdb::CreateBackupOptions options;
    options.flush_before_backup = true;  // Else the log, of up to 256 MiB, is copied each time.
    options.progress_callback = [this] {
      full_ = full_ || FreeBytes() < plan_.reserve_bytes;
      if (full_ || stop_) engine_->StopBackup();
    };
    const rocksdb::Status copied =
        engine_->CreateNewBackupWithMetadata(options, &db_, EncodeBackupLabel(label_), &id_);
    if (copied.ok()) return absl::OkStatus();
    id_ = 0;
    if (full_ || copied.IsNoSpace()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("backup directory ", plan_.directory,
                       ": the space ran out meanwhile: make room, or lower backup_keep"));
    }
    return Failed("copying the store", copied);
  }

  absl::Status Verify() {
    const absl::StatusOr<StoreMeta> meta = CheckBackup(*engine_, id_, label_, limiter_);
    if (meta.ok()) return absl::OkStatus();
    if (!absl::IsDataLoss(meta.status())) {
      return absl::UnavailableError(absl::StrCat("backup directory ", plan_.directory,
                                                 ": verifying: ", meta.status().message()));
    }
    return absl::DataLossError(absl::StrCat(
        "backup directory ", plan_.directory,
        ": the backup is damaged, and was deleted: ", meta.status().message(),
        ": if the file is below shared_checksum/, earlier backups have it too: move the directory "
        "away and back up into an empty one; if that fails as well, the store itself is damaged"));
  }

  absl::Status Verified() {
    const rocksdb::Status deleted = db_.GetEnv()->DeleteFile(UnverifiedPath(plan_.directory));
    return deleted.ok() ? SyncDirectory() : Failed("can't be written", deleted);
  }

  absl::Status SyncDirectory() {
    std::unique_ptr<rocksdb::Directory> entries;
    rocksdb::Status status = db_.GetEnv()->NewDirectory(plan_.directory, &entries);
    if (status.ok()) status = entries->Fsync();
    return status.ok() ? absl::OkStatus() : Failed("can't be written", status);
  }

  absl::StatusOr<BackupReport> Report() const {
    rocksdb::BackupInfo info;
    const rocksdb::Status found = engine_->GetBackupInfo(id_, &info);
    if (!found.ok()) return Failed("reading what it holds", found);
    return BackupReport{.id = id_,
                        .cut_time = label_.cut_time,
                        .size_bytes = info.size,
                        .file_count = info.number_files};
  }

  absl::Status Failed(absl::string_view what, const rocksdb::Status& status) const {
    return FromBackup(plan_.directory, what, status);
  }

  rocksdb::DB& db_;
  const BackupPlan& plan_;
  const std::atomic<bool>& stop_;
  const BackupLabel label_;
  const std::shared_ptr<rocksdb::RateLimiter> limiter_;  // Shared: RocksDB's types ask for it.
  StoppableEnv env_;
  DirectoryLock lock_;
  std::unique_ptr<rocksdb::BackupEngine> engine_;
  rocksdb::BackupID id_ = 0;  // 0: nothing was copied.
  std::atomic<bool> full_{false};
};

}  // namespace

absl::StatusOr<BackupReport> MakeBackup(rocksdb::DB& db, const StoreIdentity& identity,
                                        const BackupPlan& plan, absl::Time cut_time,
                                        const std::atomic<bool>& stop) {
  if (plan.directory.empty()) return PrepareBackupDirectory(plan.directory);
  BackupPlan from_root = plan;
  from_root.directory = AbsolutePath(plan.directory);
  return BackupMaker(db, identity, from_root, cut_time, stop).Make();
}

std::optional<BackupReport> FindNewestBackup(const std::string& directory) {
  rocksdb::BackupEngineReadOnly* opened = nullptr;
  if (directory.empty() || !CheckLists(*rocksdb::Env::Default(), directory).ok()) {
    return std::nullopt;
  }
  const rocksdb::Status status = rocksdb::BackupEngineReadOnly::Open(
      rocksdb::BackupEngineOptions(directory), rocksdb::Env::Default(), &opened);
  if (!status.ok()) return std::nullopt;
  const std::unique_ptr<rocksdb::BackupEngineReadOnly> engine(opened);
  Mark mark;
  if (!ReadMark(*rocksdb::Env::Default(), directory, mark).ok()) return std::nullopt;
  std::vector<rocksdb::BackupInfo> whole;  // By their numbers.
  engine->GetBackupInfo(&whole);
  // Of a torn mark, the newest may be what it was about.
  if (mark.present && !mark.last.has_value() && !whole.empty()) whole.pop_back();
  while (mark.last.has_value() && !whole.empty() && whole.back().backup_id > *mark.last) {
    whole.pop_back();
  }
  if (whole.empty()) return std::nullopt;
  const rocksdb::BackupInfo& info = whole.back();
  const absl::StatusOr<BackupLabel> label = DecodeBackupLabel(info.app_metadata);
  if (!label.ok()) return std::nullopt;
  return BackupReport{.id = info.backup_id,
                      .cut_time = label->cut_time,
                      .size_bytes = info.size,
                      .file_count = info.number_files};
}

}  // namespace onced
