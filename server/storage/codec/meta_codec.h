// What a store keeps beside its records, and its stored form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/ledger/record.h"
#include "server/storage/store.h"

namespace onced {

// Five kinds of values, each under a key of its own, since they change at
// different times. Integers are little-endian, times i64 microseconds since
// 1970 (INT64_MAX, INT64_MIN: infinite); each value ends with the u32 crc32c of
// what stands before it.
//
//   key          value                                        written
//   "store"      u32 format = 2 | u32 shards | 16 bytes       last, when the store is
//                hash_seed | u32 epoch                        made or upgraded
//   "clock"      i64 mark                                     ahead of the time used
//   "outage"     u32 outages | as many times: i64 down_since  at every opening
//                | i64 serving_since | i64 grace_until
//   "fence-0007" i64 fence, see below                         with some grants
//
// "fence-" has the last fence that the shard handed out, with its grant, where that is not
// below the mark: all others are, so that the shard's last one is that or less than the
// mark in microseconds.
//
// `format` is that of the whole store. Every format, for ever, has the u32
// format at the beginning and the checksum at the end of "store", so that an
// old server knows a newer store from a damaged one. Whatever is stored anew that it could
// not read, in records or in the watermark too, raises `format`. In format 1, "outage" was
// one outage without a number before it, of which an infinite `down_since` says
// that there was none.
inline constexpr std::uint32_t kStoreFormat = 2;
inline constexpr std::uint32_t kOldestStoreFormat = 1;
inline constexpr absl::string_view kIdentityKey = "store";
inline constexpr absl::string_view kClockKey = "clock";
inline constexpr absl::string_view kOutageKey = "outage";
std::string FenceKey(ShardId shard);

inline constexpr std::uint32_t kShardsDefault = 16;
inline constexpr std::uint32_t kShardsMax = 1024;  // Each costs memory and files.

std::string EncodeIdentity(const StoreIdentity& identity);
std::string EncodeTime(absl::Time time);
std::string EncodeOutages(const Outages& outages);
std::string EncodeFence(Fence fence);

// DATA_LOSS for anything that the function's twin could not have written.
// FAILED_PRECONDITION for an identity in a newer format; older ones are read.
absl::StatusOr<StoreIdentity> DecodeIdentity(absl::string_view bytes);
// Of an identity that DecodeIdentity() takes.
std::uint32_t FormatOf(absl::string_view identity);
absl::StatusOr<absl::Time> DecodeTime(absl::string_view bytes);
// Of a store in that format.
absl::StatusOr<Outages> DecodeOutages(absl::string_view bytes, std::uint32_t format);
absl::StatusOr<Fence> DecodeFence(absl::string_view bytes);

}  // namespace onced
