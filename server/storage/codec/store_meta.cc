#include "server/storage/codec/store_meta.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "server/base/clock.h"

namespace onced {
namespace {

// Reads what must be there and decodes it into `out`.
template <typename T>
absl::Status ReadInto(const MetaReader& read, const std::string& key,
                      absl::FunctionRef<absl::StatusOr<T>(absl::string_view)> decode, T& out) {
  const absl::StatusOr<std::optional<std::string>> bytes = read(key);
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) {
    return absl::DataLossError(absl::StrCat("the store's entry \"", key, "\" is missing"));
  }
  absl::StatusOr<T> value = decode(**bytes);
  if (!value.ok()) return value.status();
  out = *std::move(value);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNewShards(std::uint32_t shards) {
  if (shards >= 1 && shards <= kShardsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a store has between 1 and ", kShardsMax, " shards, not ", shards));
}

absl::Status CheckShards(std::optional<std::uint32_t> wanted, const StoreIdentity& stored,
                         absl::string_view where) {
  if (!wanted.has_value() || *wanted == stored.shards) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      where, ": made with ", stored.shards, " shards, which can't become ", *wanted,
      ": start with --shards ", stored.shards, " or without --shards, or name a new directory"));
}

StoreMeta NewMeta(std::uint32_t shards, Random& random, absl::Time wall_now) {
  StoreMeta meta;
  meta.identity.shards = shards;
  meta.identity.hash_seed = random.Draw<decltype(meta.identity.hash_seed)>();
  // Zero is the epoch of tokens that nobody ever had.
  do meta.identity.epoch.value = random.Draw<std::uint32_t>();
  while (meta.identity.epoch == Epoch{});
  meta.clock_mark = FloorToMicros(wall_now);
  meta.fences.resize(shards);
  return meta;
}

void Resume(absl::Time wall_now, absl::Duration restart_grace, StoreMeta& meta) {
  const absl::Time now = std::max(FloorToMicros(wall_now), meta.clock_mark);
  meta.outages =
      EndOutage(std::move(meta.outages), meta.clock_mark - kMarkLeadMax, now, restart_grace);
  meta.clock_mark = now;
}

MetaEntries EncodeMeta(const StoreMeta& meta) {
  MetaEntries entries = {{std::string(kOutageKey), EncodeOutages(meta.outages)},
                         {std::string(kClockKey), EncodeTime(meta.clock_mark)}};
  for (std::uint32_t shard = 0; shard < meta.fences.size(); ++shard) {
    entries.emplace_back(FenceKey({shard}), EncodeFence(meta.fences[shard]));
  }
  entries.emplace_back(kIdentityKey, EncodeIdentity(meta.identity));
  return entries;
}

MetaEntries EncodeResumed(const StoreMeta& meta) {
  return {{std::string(kOutageKey), EncodeOutages(meta.outages)},
          {std::string(kClockKey), EncodeTime(meta.clock_mark)},
          {std::string(kIdentityKey), EncodeIdentity(meta.identity)}};
}

absl::StatusOr<std::optional<StoreMeta>> ReadMeta(const MetaReader& read) {
  const absl::StatusOr<std::optional<std::string>> identity = read(std::string(kIdentityKey));
  if (!identity.ok()) return identity.status();
  if (!identity->has_value()) return std::nullopt;
  StoreMeta meta;
  absl::Status status =
      ReadInto<StoreIdentity>(read, std::string(kIdentityKey), DecodeIdentity, meta.identity);
  if (status.ok())
    status = ReadInto<absl::Time>(read, std::string(kClockKey), DecodeTime, meta.clock_mark);
  const std::uint32_t format = FormatOf(**identity);
  const auto decode_outages = [format](absl::string_view bytes) {
    return DecodeOutages(bytes, format);
  };
  if (status.ok()) {
    status = ReadInto<Outages>(read, std::string(kOutageKey), decode_outages, meta.outages);
  }
  meta.fences.resize(status.ok() ? meta.identity.shards : 0);
  for (std::uint32_t shard = 0; status.ok() && shard < meta.fences.size(); ++shard) {
    status = ReadInto<Fence>(read, FenceKey({shard}), DecodeFence, meta.fences[shard]);
  }
  if (!status.ok()) return status;
  return meta;
}

}  // namespace onced
