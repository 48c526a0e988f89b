#include "server/storage/rocksdb/backup_check.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/storage/rocksdb/rocks_status.h"
#include "server/storage/rocksdb/watermark.h"

namespace onced {
namespace {

absl::Status CheckIdentity(const StoreIdentity& identity, const BackupLabel& label) {
  const bool same = WatermarkStoreId(identity) == label.store && identity.epoch == label.epoch &&
                    identity.shards == label.shards;
  return same ? absl::OkStatus() : absl::DataLossError("its files are another store's");
}

// As the engine reads numbers: in the one form that it writes.
std::optional<std::uint32_t> ParseNumber(absl::string_view text) {
  std::uint32_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || absl::StrCat(number) != text) return std::nullopt;
  return number;
}

// The engine counts on, and keeps the last two for itself.
constexpr rocksdb::BackupID kIdMax = std::numeric_limits<rocksdb::BackupID>::max() - 3;

// Of which backups there are lists.
absl::StatusOr<std::set<rocksdb::BackupID>> ListedIds(rocksdb::Env& env,
                                                      const std::string& directory) {
  std::vector<std::string> names;
  const rocksdb::Status read = env.GetChildren(absl::StrCat(directory, "/meta"), &names);
  std::set<rocksdb::BackupID> ids;
  if (read.IsNotFound()) return ids;
  if (!read.ok()) return FromBackup(directory, "reading meta/", read);
  for (const std::string& name : names) {
    const std::optional<rocksdb::BackupID> id = ParseNumber(name);
    if (!id.has_value() || *id == 0) continue;
    if (*id > kIdMax) {
      return absl::FailedPreconditionError(
          absl::StrCat("backup directory ", directory, ": meta/", name, " is no backup that onced ",
                       "made, and its number leaves none for the next: move that file away"));
    }
    ids.insert(*id);
  }
  return ids;
}

// A file's checksum, and whose list gave it first.
struct Listed {
  std::uint32_t checksum;
  rocksdb::BackupID by;
};
using ListedFiles = std::map<std::string, Listed, std::less<>>;

// Takes one line of a list: "PATH crc32 NUMBER" is a file, and may end with a space.
absl::Status AddLine(const std::string& directory, rocksdb::BackupID by, absl::string_view line,
                     ListedFiles& files) {
  absl::ConsumeSuffix(&line, " ");
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
  if (parts.size() != 3 || parts[1] != "crc32") return absl::OkStatus();
  const std::optional<std::uint32_t> checksum = ParseNumber(parts[2]);
  if (!checksum.has_value()) return absl::OkStatus();
  const Listed& first =
      files.try_emplace(std::string(parts[0]), Listed{*checksum, by}).first->second;
  if (first.checksum == *checksum) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "backup directory ", directory, ": meta/", first.by, " and meta/", by,
      " give different checksums of ", parts[0],
      ": one of the two lists is damaged, and which one ",
      "can't be told: to back up, name an empty directory; to restore, move one of the two lists ",
      "away, and if the other's backup is damaged then, put it back and move the other one"));
}

}  // namespace

absl::Status CheckLists(rocksdb::Env& env, const std::string& directory) {
  const absl::StatusOr<std::set<rocksdb::BackupID>> ids = ListedIds(env, directory);
  if (!ids.ok()) return ids.status();
  ListedFiles files;
  for (const rocksdb::BackupID id : *ids) {
    const std::string path = absl::StrCat(directory, "/meta/", id);
    std::string text;
    const rocksdb::Status read = rocksdb::ReadFileToString(&env, path, &text);
    if (!read.ok()) return FromBackup(directory, absl::StrCat("reading meta/", id), read);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const absl::Status added = AddLine(directory, id, line, files);
      if (!added.ok()) return added;
    }
  }
  return absl::OkStatus();
}

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

std::vector<rocksdb::BackupID> AllBackups(const rocksdb::BackupEngineReadOnlyBase& engine) {
  std::vector<rocksdb::BackupID> ids;
  engine.GetCorruptedBackups(&ids);
  std::vector<rocksdb::BackupInfo> whole;
  engine.GetBackupInfo(&whole);
  for (const rocksdb::BackupInfo& info : whole) ids.push_back(info.backup_id);
  return ids;
}

absl::Status FromBackup(const std::string& directory, absl::string_view what,
                        const rocksdb::Status& status) {
  return FromRocks(absl::StrCat("backup directory ", directory, ": ", what), status);
}

}  // namespace onced
