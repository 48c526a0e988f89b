// Which shard a key lies in.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "server/ledger/record.h"
#include "server/storage/store.h"

namespace onced {

// SipHash-2-4 (Aumasson and Bernstein, 2012) of `bytes` under a 128-bit key.
std::uint64_t SipHash(const std::array<std::uint8_t, 16>& key, absl::string_view bytes);

// The hash is keyed with a seed that never leaves the store, so that nobody can
// aim keys at one shard.
// Threads: constant after construction.
class ShardMap {
 public:
  explicit ShardMap(const StoreIdentity& identity)
      : shards_(identity.shards), seed_(identity.hash_seed) {}
  ShardId ShardOf(const RecordKey& key) const;

 private:
  const std::uint32_t shards_;
  const std::array<std::uint8_t, 16> seed_;
};

}  // namespace onced
