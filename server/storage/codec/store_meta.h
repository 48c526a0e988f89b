// How a store is made, and how it comes back: the same for every backend.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/random.h"
#include "server/storage/codec/meta_codec.h"
#include "server/storage/store.h"

namespace onced {

// All that a store keeps beside its records.
struct StoreMeta {
  StoreIdentity identity;
  Outages outages;
  absl::Time clock_mark;
  // Of each shard, the last that was stored. What was handed out is that or less, or
  // below the clock mark.
  std::vector<Fence> fences;
  bool operator==(const StoreMeta&) const = default;
};

// INVALID_ARGUMENT if there can't be that many shards.
absl::Status CheckNewShards(std::uint32_t shards);
// FAILED_PRECONDITION with the way out, if `wanted` is not what is stored in `where`.
absl::Status CheckShards(std::optional<std::uint32_t> wanted, const StoreIdentity& stored,
                         absl::string_view where);

// Of a new store: random seed and epoch, no outage, time starts at `wall_now`.
StoreMeta NewMeta(std::uint32_t shards, Random& random, absl::Time wall_now);

// The same store after it was down until `wall_now`. The mark never goes back:
// a wall clock behind it is not believed. The server saw at least the time
// kMarkLeadMax below it.
void Resume(absl::Time wall_now, absl::Duration restart_grace, StoreMeta& meta);

using MetaEntries = std::vector<std::pair<std::string, std::string>>;  // Key, value.
// Everything, in the order to write it: the identity is last, so that a store
// that has one is complete.
MetaEntries EncodeMeta(const StoreMeta& meta);
// What Resume() may have changed, and what makes it a store of today's format.
MetaEntries EncodeResumed(const StoreMeta& meta);

// Reads one value by its key; nullopt if there is none.
using MetaReader = std::function<absl::StatusOr<std::optional<std::string>>(const std::string&)>;
// Reads every format that there ever was. nullopt if there is no identity: the store is new or was
// only half made. DATA_LOSS if there is one and something else is missing or damaged.
absl::StatusOr<std::optional<StoreMeta>> ReadMeta(const MetaReader& read);

}  // namespace onced
