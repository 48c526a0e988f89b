#include "server/storage/rocksdb/backup_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/storage/rocksdb/rocks_status.h"
#include "server/storage/rocksdb/watermark.h"

namespace onced {
namespace {

absl::Status CheckIdentity(const StoreIdentity& identity, const BackupLabel& label) {
  const bool same = WatermarkStoreId(identity) == label.store && identity.epoch == label.epoch &&
                    identity.shards == label.shards;
  return same ? absl::OkStatus() : absl::DataLossError("its files are another store's");
}

}  // namespace

absl::StatusOr<StoreMeta> CheckBackup(const rocksdb::BackupEngineReadOnlyBase& engine,
                                      rocksdb::BackupID id, const BackupLabel& label,
                                      Limiter limiter) {
  rocksdb::Status status = engine.VerifyBackup(id, /*verify_with_checksum=*/true);
  rocksdb::BackupInfo info;
  if (status.ok()) status = engine.GetBackupInfo(id, &info, /*include_file_details=*/true);
  // A file that is missing is damage as well.
  if (status.IsNotFound()) return absl::DataLossError(status.ToString());
  if (!status.ok()) return FromRocks("reading the backup's files", status);
  const absl::StatusOr<PlainDatabase> opened =
      OpenPlain(*info.env_for_open, info.name_for_open, PlainAccess::kRead, std::move(limiter));
  if (!opened.ok()) return opened.status();
  absl::StatusOr<StoreMeta> meta = ReadPlainMeta(*opened);
  if (!meta.ok()) return meta.status();
  const absl::Status same = CheckIdentity(meta->identity, label);
  if (!same.ok()) return same;
  rocksdb::ReadOptions paced;
  paced.rate_limiter_priority = rocksdb::Env::IO_LOW;
  status = opened->db->VerifyChecksum(paced);
  if (!status.ok()) return FromRocks("reading the backup's blocks", status);
  return meta;
}

absl::Status FromBackup(const std::string& directory, absl::string_view what,
                        const rocksdb::Status& status) {
  return FromRocks(absl::StrCat("backup directory ", directory, ": ", what), status);
}

}  // namespace onced
