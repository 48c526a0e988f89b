// The stored form of a record and of its key. Every backend stores these bytes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/ledger/record.h"
#include "server/storage/store.h"

namespace onced {

// Integers are little-endian, `str` is a u32 length and that many
// bytes, times are i64 microseconds since 1970, durations i64 microseconds.
// INT64_MAX is "never".
//
// Version 1:
//   u8 version = 1 | u8 state | i64 expires_at         <- all that expiry needs
//   u32 token.epoch | 16 bytes token.bits | i64 fence | u32 attempt
//   i64 reserve_time | str owner | str fingerprint
//   then for state 1, PENDING:
//     str request_id | i64 lease_expire_time | u8 on_lapse | i64 lapsed_retention
//     i64 retention.min | i64 retention.max | i64 retention.preset
//     u8 has_previous (0, 1) | if 1: i64 fence | str owner | i64 lapse_time
//     str checkpoint
//   or for state 2, COMMITTED:
//     i64 commit_time | u8 flags (1 late, 2 headers omitted, 4 body omitted)
//     i32 status_code | u32 headers | as many times: str name | str value
//     i64 body_size | str body_sha256 | str body
//   u32 crc32c of all the above
//
// Version 2, of a record that has a trace, and of no other: the same with version = 2 and
// before the checksum
//   16 bytes trace.trace_id | 8 bytes trace.span_id    <- not all zero
// So what a server wrote that traces nothing can also be read by those before this.
//
// States are never renumbered, nor are the values of OnLapse. `expires_at` is
// the expire_time of a COMMITTED record; of a PENDING one never under HOLD, else
// lease_expire_time + lapsed_retention. It is a lower bound: an outage's grace,
// or a restore, may let a PENDING record live longer.
//
// The checksum is there although RocksDB has its own for blocks and log: those
// don't see a bit that flips in the block cache or in a memtable, and say
// nothing of a backend other than RocksDB. A result is replayed byte for byte
// or not at all.
//
// Every version ever released stays readable: a change of layout is a new
// version and a new golden string in the test, and the old ones stay.
std::string EncodeRecord(const Record& record);
// DATA_LOSS for anything that EncodeRecord() could not have written, trailing
// bytes included. Never reads past `bytes`, whatever they hold.
absl::StatusOr<Record> DecodeRecord(absl::string_view bytes);
// `expires_at`, without reading the rest. InfiniteFuture for what does not even
// begin like a record: losing that is a decision for a human.
absl::Time ExpiryOf(absl::string_view bytes);
// Whether they begin like a record that is PENDING.
bool HoldsPending(absl::string_view bytes);

//   namespace | 0x00 | key
// No namespace holds a zero byte, so no two keys give the same bytes, and the
// keys of a namespace stand together.
std::string EncodeKey(const RecordKey& key);
absl::StatusOr<RecordKey> DecodeKey(absl::string_view bytes);

// Stored keys from the first to before the second are those of the range.
std::string ScanBegin(const ScanRange& range);
std::string ScanEnd(const ScanRange& range);

}  // namespace onced
