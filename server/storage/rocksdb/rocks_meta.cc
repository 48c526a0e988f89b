#include "server/storage/rocksdb/rocks_meta.h"

#include <string>

#include "rocksdb/write_batch.h"
#include "server/storage/rocksdb/rocks_status.h"

namespace onced {

absl::StatusOr<std::optional<StoreMeta>> ReadRocksMeta(rocksdb::DB& db) {
  return ReadMeta([&db](const std::string& key) -> absl::StatusOr<std::optional<std::string>> {
    std::string value;
    const rocksdb::Status status = db.Get({}, key, &value);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return FromRocks("reading what the store knows of itself", status);
    return value;
  });
}

absl::Status WriteRocksMeta(rocksdb::DB& db, const MetaEntries& entries) {
  rocksdb::WriteBatch batch;
  rocksdb::Status status;
  for (const auto& [key, value] : entries) {
    if (status.ok()) status = batch.Put(key, value);
  }
  rocksdb::WriteOptions synced;
  synced.sync = true;
  if (status.ok()) status = db.Write(synced, &batch);
  return FromRocks("writing what the store knows of itself", status);
}

}  // namespace onced
