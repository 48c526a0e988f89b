// What a sweep does to a shard of which everything is worth it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/storage/rocksdb/rocks_space.h"
#include "server/storage/rocksdb/rocks_store.h"

namespace onced {

// Writes what is in memory to files, and all of the shard's files anew.
inline absl::Status CompactShard(RocksStore& store, ShardId shard) {
  // No key is longer than this one, and none has such a byte in its namespace.
  return store.space().Rewrite({.shard = shard, .from = "", .to = "\xff"});
}

}  // namespace onced
