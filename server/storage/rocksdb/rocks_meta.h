// Where in a RocksDB the store keeps what it knows of itself: its default column
// family.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rocksdb/db.h"
#include "server/storage/codec/store_meta.h"

namespace onced {

// As ReadMeta(); UNAVAILABLE if reading failed.
absl::StatusOr<std::optional<StoreMeta>> ReadRocksMeta(rocksdb::DB& db);

// As one write, synced in every durability: it happens once, and what was served
// before an outage must not be forgotten in the next one.
absl::Status WriteRocksMeta(rocksdb::DB& db, const MetaEntries& entries);

}  // namespace onced
