#include "server/storage/codec/store_meta.h"

#include <algorithm>
#include <map>

#include "server/storage/codec/meta_codec.h"
#include "server/storage/codec/wire.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

std::string Sealed(absl::string_view bytes) {
  WireWriter out;
  out.Fixed(bytes.data(), bytes.size());
  return std::move(out).Seal();
}

// One value by itself.
void ReadEach(const std::string& bytes) {
  const auto identity = DecodeIdentity(bytes);
  if (identity.ok() && FormatOf(bytes) == kStoreFormat) {
    Demand(EncodeIdentity(*identity) == bytes, "another identity");
  }
  const auto time = DecodeTime(bytes);
  if (time.ok()) Demand(EncodeTime(*time) == bytes, "another time");
  const auto fence = DecodeFence(bytes);
  if (fence.ok()) Demand(EncodeFence(*fence) == bytes, "another fence");
  const auto outages = DecodeOutages(bytes, kStoreFormat);
  if (outages.ok()) {
    Demand(outages->size() <= kOutagesMax, "too many outages");
    Demand(EncodeOutages(*outages) == bytes, "other outages");
  }
  const auto first_format = DecodeOutages(bytes, 1);
  if (first_format.ok()) Demand(first_format->size() <= 1, "there was one in format 1");
}

using Stored = std::map<std::string, std::string>;

absl::StatusOr<std::optional<StoreMeta>> ReadFrom(const Stored& stored) {
  return ReadMeta([&](const std::string& key) -> absl::StatusOr<std::optional<std::string>> {
    const auto found = stored.find(key);
    if (found == stored.end()) return std::nullopt;
    return found->second;
  });
}

Stored AsStored(const MetaEntries& entries, Stored stored = {}) {
  for (const auto& [key, value] : entries) stored[key] = value;
  return stored;
}

// A whole store's, of which every value may be anything.
void ReadAll(Draw draw) {
  Stored stored;
  stored[std::string(kIdentityKey)] = Sealed(draw.View(28));
  stored[std::string(kClockKey)] = Sealed(draw.View(8));
  stored[std::string(kOutageKey)] = Sealed(draw.View(draw.Below(8) * 24 + 4));
  const absl::Duration down = draw.Duration();
  const absl::Duration grace = absl::Seconds(static_cast<std::int64_t>(draw.Below(200)));
  for (std::uint32_t shard = 0; shard < 8 && !draw.AtEnd(); ++shard) {
    stored[FenceKey({shard})] = Sealed(draw.View(8));
  }
  const auto read = ReadFrom(stored);
  if (!read.ok()) return;
  Demand(read->has_value(), "a store with an identity is one");
  const StoreMeta meta = **read;
  Demand(ReadFrom(AsStored(EncodeMeta(meta))).value() == meta, "read something else back");

  // Of a store of this age: what lies at the end of all times is read, and no more.
  const absl::Time now = meta.clock_mark + down;
  for (const absl::Time time : {meta.clock_mark, now}) {
    if (time < absl::UnixEpoch() || time > absl::FromUnixSeconds(253'402'300'800)) return;
  }
  StoreMeta resumed = meta;
  Resume(now, grace, resumed);
  Demand(resumed.clock_mark >= meta.clock_mark, "the mark went back");
  Demand(resumed.fences == meta.fences && resumed.identity == meta.identity, "changed the rest");
  Demand(resumed.outages.size() <= kOutagesMax, "too many outages");
  const Stored after = AsStored(EncodeResumed(resumed), AsStored(EncodeMeta(meta)));
  Demand(ReadFrom(after).value() == resumed, "can't be opened once more");
}

}  // namespace

void StoreMetaCodec(absl::string_view bytes) {
  ReadEach(std::string(bytes));
  ReadEach(Sealed(bytes));
  ReadAll(Draw(bytes));
}

}  // namespace onced::fuzz
