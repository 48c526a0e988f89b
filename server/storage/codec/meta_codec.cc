#include "server/storage/codec/meta_codec.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/storage/codec/wire.h"

namespace onced {
namespace {

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the store's ", what, " is damaged"));
}

Outage TakeOutage(WireReader& in) {
  Outage outage;
  outage.down_since = in.Time();
  outage.serving_since = in.Time();
  outage.grace_until = in.Time();
  return outage;
}

// The end of every decoder: all was there, and nothing more.
bool Complete(const WireReader& in) { return in.ok() && in.left() == 0; }

}  // namespace

std::string FenceKey(ShardId shard) { return absl::StrFormat("fence-%04d", shard.value); }

std::string EncodeIdentity(const StoreIdentity& identity) {
  WireWriter out;
  out.Int(kStoreFormat);
  out.Int(identity.shards);
  out.Fixed(identity.hash_seed.data(), identity.hash_seed.size());
  out.Int(identity.epoch.value);
  return std::move(out).Seal();
}

std::string EncodeTime(absl::Time time) {
  WireWriter out;
  out.Time(time);
  return std::move(out).Seal();
}

std::string EncodeOutages(const Outages& outages) {
  WireWriter out;
  out.Int(static_cast<std::uint32_t>(outages.size()));
  for (const Outage& outage : outages) {
    out.Time(outage.down_since);
    out.Time(outage.serving_since);
    out.Time(outage.grace_until);
  }
  return std::move(out).Seal();
}

std::string EncodeFence(Fence fence) {
  WireWriter out;
  out.Int(fence.value);
  return std::move(out).Seal();
}

absl::StatusOr<StoreIdentity> DecodeIdentity(absl::string_view bytes) {
  if (!Unseal(bytes)) return Damaged("identity");
  WireReader in(bytes);
  const auto format = in.Int<std::uint32_t>();
  if (in.ok() && format > kStoreFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the store is in format ", format, ", written by a newer onced; this one reads ",
        "formats up to ", kStoreFormat, ": start the newer onced"));
  }
  StoreIdentity identity;
  identity.shards = in.Int<std::uint32_t>();
  in.Fixed(identity.hash_seed.data(), identity.hash_seed.size());
  identity.epoch.value = in.Int<std::uint32_t>();
  in.Require(format >= kOldestStoreFormat && identity.epoch != Epoch{});
  in.Require(identity.shards >= 1 && identity.shards <= kShardsMax);
  if (!Complete(in)) return Damaged("identity");
  return identity;
}

std::uint32_t FormatOf(absl::string_view identity) {
  return WireReader(identity).Int<std::uint32_t>();
}

absl::StatusOr<absl::Time> DecodeTime(absl::string_view bytes) {
  if (!Unseal(bytes)) return Damaged("clock mark");
  WireReader in(bytes);
  const absl::Time time = in.Time();
  if (!Complete(in)) return Damaged("clock mark");
  return time;
}

absl::StatusOr<Outages> DecodeOutages(absl::string_view bytes, std::uint32_t format) {
  if (!Unseal(bytes)) return Damaged("record of its outages");
  WireReader in(bytes);
  const std::uint32_t count = format == 1 ? 1 : in.Int<std::uint32_t>();
  in.Require(count <= kOutagesMax);
  Outages outages(in.ok() ? count : 0);
  for (Outage& outage : outages) outage = TakeOutage(in);
  if (!Complete(in)) return Damaged("record of its outages");
  if (format == 1 && outages.front() == Outage{}) outages.clear();
  return outages;
}

absl::StatusOr<Fence> DecodeFence(absl::string_view bytes) {
  if (!Unseal(bytes)) return Damaged("last fence");
  WireReader in(bytes);
  const Fence fence{in.Int<std::int64_t>()};
  if (!Complete(in)) return Damaged("last fence");
  return fence;
}

}  // namespace onced
