// A RocksDB with all of its column families, opened as it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rocksdb/db.h"
#include "rocksdb/rate_limiter.h"
#include "server/storage/codec/store_meta.h"

namespace onced {

// Beside RocksStore, for copies of a store that nobody serves: nothing is
// checked against a watermark, and nothing is compacted, so that nothing is
// reclaimed.
//
// Lifetime: closed from the end to the beginning: handles, database.
struct PlainDatabase {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families;
};

// Paces reads of priority IO_LOW; null: none.
// Shared: RocksDB's types ask for it.
using Limiter = std::shared_ptr<rocksdb::RateLimiter>;

enum class PlainAccess : std::uint8_t { kRead, kReadAndWrite };

absl::StatusOr<PlainDatabase> OpenPlain(rocksdb::Env& env, const std::string& directory,
                                        PlainAccess access, Limiter limiter = nullptr);

// DATA_LOSS if it isn't a whole store.
absl::StatusOr<StoreMeta> ReadPlainMeta(const PlainDatabase& database);

}  // namespace onced
