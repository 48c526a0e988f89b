#include "server/storage/rocksdb/durable_check.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rocksdb/env.h"
#include "server/storage/codec/meta_codec.h"
#include "server/storage/rocksdb/directory_lock.h"
#include "server/storage/rocksdb/file_marks.h"
#include "server/storage/rocksdb/rocks_status.h"
#include "server/storage/rocksdb/watermark.h"

namespace onced {
namespace {

// Keeps what RocksDB says of the part of a log that it can't read: its status
// does not say which log that is.
class DropListener final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    std::array<char, 1'024> line{};
    // Ignored: a longer line is cut.
    (void)std::vsnprintf(line.data(), line.size(), format, arguments);
    const absl::string_view text(line.data());
    if (!dropped_.empty() || !absl::StrContains(text, ": dropping ")) return;
    const std::size_t prefix = text.rfind("] ");  // Where in RocksDB it is said.
    dropped_ = std::string(prefix == text.npos ? text : text.substr(prefix + 2));
  }
  // Empty: nothing.
  const std::string& dropped() const { return dropped_; }

 private:
  std::string dropped_;  // RocksDB opens on one thread.
};

// One look, step by step. Used once.
class DurableCheck {
 public:
  DurableCheck(const rocksdb::DBOptions& options, const std::string& directory,
               const std::vector<rocksdb::ColumnFamilyDescriptor>& families)
      : directory_(directory),
        where_(absl::StrCat("data directory ", directory)),
        families_(families),
        options_(options) {}

  absl::StatusOr<rocksdb::WALRecoveryMode> Run() {
    absl::Status status = ReadMark();
    if (!status.ok()) return status;
    DirectoryLock lock(*options_.env);  // Or we'd look while another process writes.
    rocksdb::Status locked = lock.Take(directory_);
    if (!locked.ok()) return FromRocksOpen(directory_, locked);
    status = WalkAllLogs();
    if (status.ok()) status = CheckWhatOpens();
    locked = lock.GiveUp();
    if (!status.ok()) return status;
    if (!locked.ok()) return FromRocksOpen(directory_, locked);
    return options_.wal_recovery_mode;
  }

 private:
  absl::Status ReadMark() {
    const auto mark = Watermark::Read(*options_.env, directory_);
    if (mark.ok()) {
      mark_ = *mark;
      return absl::OkStatus();
    }
    if (!absl::IsDataLoss(mark.status())) return Here(mark.status());
    mark_damage_ = mark.status();  // Of a store that is only half made, it may be so.
    return absl::OkStatus();
  }

  absl::Status WalkAllLogs() {
    auto logs = WalkLogs(*options_.env, directory_, OldestLogNamed());
    if (absl::IsDataLoss(logs.status())) return Damaged(logs.status().message());
    if (!logs.ok()) return Here(logs.status());
    logs_ = *std::move(logs);
    return absl::OkStatus();
  }
  std::uint64_t OldestLogNamed() const {
    return mark_.has_value() && !mark_->logs.empty() ? mark_->logs.front().number : 0;
  }

  // What can be seen of a store that is not changed by it.
  struct Sight {
    std::uint64_t last_sequence = 0;
    absl::Status files;  // Whether those that the watermark names are there.
    std::optional<StoreIdentity> identity;
  };

  // A damaged log opens only up to the damage, and only if all that is known to
  // have been durable lies before it: that is a crash's tail.
  absl::Status CheckWhatOpens() {
    absl::StatusOr<Sight> sight = Look();
    if (absl::IsDataLoss(sight.status()) && mark_.has_value()) {
      const absl::Status damage = sight.status();
      options_.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
      sight = Look();
      if (!sight.ok() || !sight->files.ok() || sight->last_sequence < mark_->sequence) {
        return damage;
      }
    }
    return sight.ok() ? CheckSight(*sight) : sight.status();
  }

  absl::Status CheckSight(const Sight& sight) const {
    if (mark_.has_value() && sight.last_sequence < mark_->sequence) {
      return Damaged(absl::StrCat("writes up to number ", mark_->sequence,
                                  " were durable, but only those up to ", sight.last_sequence,
                                  " are there"));
    }
    if (!sight.files.ok()) return Damaged(sight.files.message());
    if (!sight.identity.has_value()) return absl::OkStatus();  // Half made.
    if (!mark_damage_.ok()) return Damaged(mark_damage_.message());
    if (!mark_.has_value()) return Damaged("the file WATERMARK is missing");
    if (mark_->store != WatermarkStoreId(*sight.identity)) {
      return Damaged("the file WATERMARK belongs to another store");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Sight> Look() {
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    const auto drops = std::make_shared<DropListener>();  // RocksDB's types ask for it.
    rocksdb::DBOptions options = options_;
    options.info_log = drops;
    const rocksdb::Status status =
        rocksdb::DB::OpenForReadOnly(options, directory_, families_, &handles, &opened);
    if (!status.ok() && !drops->dropped().empty()) {
      const absl::Status damage = FromRocksOpen(directory_, status);
      return absl::Status(damage.code(), absl::StrCat(damage.message(), ": ", drops->dropped()));
    }
    if (!status.ok()) return FromRocksOpen(directory_, status);
    const std::unique_ptr<rocksdb::DB> db(opened);
    const std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> freed(handles.begin(),
                                                                          handles.end());
    Sight sight{.last_sequence = db->GetLatestSequenceNumber()};
    if (mark_.has_value()) sight.files = CheckFiles(*db, *mark_, logs_);
    std::string bytes;
    const rocksdb::Status read =
        db->Get({}, rocksdb::Slice(kIdentityKey.data(), kIdentityKey.size()), &bytes);
    if (read.IsNotFound()) return sight;
    if (!read.ok()) return Here(FromRocks("reading what the store knows of itself", read));
    const absl::StatusOr<StoreIdentity> identity = DecodeIdentity(bytes);
    if (!identity.ok()) return Here(identity.status());
    sight.identity = *identity;
    return sight;
  }

  absl::Status Damaged(absl::string_view what) const {
    return absl::DataLossError(
        absl::StrCat(where_, ": damaged: ", what,
                     ": put back the files that are missing, or a copy of the whole directory"));
  }

  absl::Status Here(const absl::Status& status) const {
    return absl::Status(status.code(), absl::StrCat(where_, ": ", status.message()));
  }

  const std::string& directory_;
  const std::string where_;
  const std::vector<rocksdb::ColumnFamilyDescriptor>& families_;
  rocksdb::DBOptions options_;
  std::optional<WatermarkValue> mark_;
  absl::Status mark_damage_;  // Why there is none, though there is the file.
  LogContents logs_;
};

}  // namespace

absl::StatusOr<rocksdb::WALRecoveryMode> CheckDurable(
    const rocksdb::DBOptions& options, const std::string& directory,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  return DurableCheck(options, directory, families).Run();
}

}  // namespace onced
