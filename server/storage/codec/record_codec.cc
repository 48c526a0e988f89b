#include "server/storage/codec/record_codec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "server/base/check.h"
#include "server/storage/codec/meta_codec.h"
#include "server/storage/codec/wire.h"

namespace onced {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kVersionWithTrace = 2;
// With a newer version of a record comes a newer format of the store, by which an older
// server refuses it instead of taking the record for damaged.
static_assert(kVersionWithTrace == 2 && kStoreFormat == 2);

// Stored: never renumber.
enum class StoredState : std::uint8_t { kPending = 1, kCommitted = 2 };

constexpr std::uint8_t kLate = 1;
constexpr std::uint8_t kHeadersOmitted = 2;
constexpr std::uint8_t kBodyOmitted = 4;

constexpr std::size_t kFixedBytesMax = 216;  // Of a record without its strings, at most.
constexpr std::size_t kHeaderBytesMin = 2 * sizeof(std::uint32_t);

absl::Time PendingExpiry(const Pending& pending) {
  if (pending.on_lapse == OnLapse::kHold) return absl::InfiniteFuture();
  return pending.lease_expire_time + pending.lapsed_retention;  // Absl saturates.
}

// ---- Writing ----

std::size_t SizeHint(const Record& record) {
  std::size_t size = kFixedBytesMax + record.owner.size() + record.fingerprint.size();
  if (const auto* pending = std::get_if<Pending>(&record.phase)) {
    size += pending->request_id.size() + pending->checkpoint.size();
    return pending->previous.has_value() ? size + pending->previous->owner.size() : size;
  }
  const Result& result = *std::get<Committed>(record.phase).result;
  for (const Header& header : result.headers) {
    size += kHeaderBytesMin + header.name.size() + header.value.size();
  }
  return size + result.body_sha256.size() + result.body.size();
}

void WritePending(const Pending& pending, WireWriter& out) {
  out.String(pending.request_id);
  out.Time(pending.lease_expire_time);
  out.Int(static_cast<std::uint8_t>(pending.on_lapse));
  out.Duration(pending.lapsed_retention);
  out.Duration(pending.retention.min);
  out.Duration(pending.retention.max);
  out.Duration(pending.retention.preset);
  out.Int<std::uint8_t>(pending.previous.has_value() ? 1 : 0);
  if (pending.previous.has_value()) {
    out.Int(pending.previous->fence.value);
    out.String(pending.previous->owner);
    out.Time(pending.previous->lapse_time);
  }
  out.String(pending.checkpoint);
}

void WriteCommitted(const Committed& committed, WireWriter& out) {
  const Result& result = *committed.result;
  out.Time(committed.commit_time);
  out.Int<std::uint8_t>((committed.late ? kLate : 0) |
                        (result.headers_omitted ? kHeadersOmitted : 0) |
                        (result.body_omitted ? kBodyOmitted : 0));
  out.Int(result.status_code);
  out.Int(static_cast<std::uint32_t>(result.headers.size()));
  for (const Header& header : result.headers) {
    out.String(header.name);
    out.String(header.value);
  }
  out.Int(result.body_size);
  out.String(result.body_sha256);
  out.String(result.body);
}

// ---- Reading ----

Pending ReadPending(absl::Time expires_at, WireReader& in) {
  Pending pending;
  pending.request_id = std::string(in.String());
  pending.lease_expire_time = in.Time();
  pending.on_lapse = static_cast<OnLapse>(in.Int<std::uint8_t>());
  in.Require(pending.on_lapse == OnLapse::kRegrant || pending.on_lapse == OnLapse::kHold);
  pending.lapsed_retention = in.Duration();
  pending.retention.min = in.Duration();
  pending.retention.max = in.Duration();
  pending.retention.preset = in.Duration();
  const auto has_previous = in.Int<std::uint8_t>();
  in.Require(has_previous <= 1);
  if (in.ok() && has_previous == 1) {
    Previous& previous = pending.previous.emplace();
    previous.fence.value = in.Int<std::int64_t>();
    previous.owner = std::string(in.String());
    previous.lapse_time = in.Time();
  }
  pending.checkpoint = std::string(in.String());
  in.Require(StoredTime(expires_at) == StoredTime(PendingExpiry(pending)));
  return pending;
}

std::vector<Header> ReadHeaders(WireReader& in) {
  std::vector<Header> headers;
  const auto count = in.Int<std::uint32_t>();
  in.Require(count <= in.left() / kHeaderBytesMin);  // Or we'd allocate what a bad count says.
  if (!in.ok()) return headers;
  headers.reserve(count);
  for (std::uint32_t i = 0; in.ok() && i < count; ++i) {
    const absl::string_view name = in.String();
    const absl::string_view value = in.String();
    headers.push_back({std::string(name), std::string(value)});
  }
  return headers;
}

Committed ReadCommitted(absl::Time expires_at, WireReader& in) {
  Committed committed;
  Result result;
  committed.commit_time = in.Time();
  committed.expire_time = expires_at;
  const auto flags = in.Int<std::uint8_t>();
  in.Require(flags <= (kLate | kHeadersOmitted | kBodyOmitted));
  committed.late = (flags & kLate) != 0;
  result.headers_omitted = (flags & kHeadersOmitted) != 0;
  result.body_omitted = (flags & kBodyOmitted) != 0;
  result.status_code = in.Int<std::int32_t>();
  result.headers = ReadHeaders(in);
  result.body_size = in.Int<std::int64_t>();
  result.body_sha256 = std::string(in.String());
  result.body = std::string(in.String());
  committed.result = StoredResult(std::move(result));
  return committed;
}

TraceRef ReadTrace(WireReader& in) {
  TraceRef trace;
  in.Fixed(trace.trace_id.data(), trace.trace_id.size());
  in.Fixed(trace.span_id.data(), trace.span_id.size());
  in.Require(!trace.empty());  // Or the same record could be stored in two ways.
  return trace;
}

// Of every record: what version, and whether it is one that is known.
std::uint8_t ReadVersion(WireReader& in) {
  const auto version = in.Int<std::uint8_t>();
  in.Require(version == kVersion || version == kVersionWithTrace);
  return version;
}

}  // namespace

std::string EncodeRecord(const Record& record) {
  const auto* pending = std::get_if<Pending>(&record.phase);
  const auto* committed = std::get_if<Committed>(&record.phase);
  WireWriter out;
  out.Reserve(SizeHint(record));
  out.Int(record.trace.empty() ? kVersion : kVersionWithTrace);
  out.Int(static_cast<std::uint8_t>(pending != nullptr ? StoredState::kPending
                                                       : StoredState::kCommitted));
  out.Time(pending != nullptr ? PendingExpiry(*pending) : committed->expire_time);
  out.Int(record.token.epoch.value);
  out.Fixed(record.token.bits.data(), record.token.bits.size());
  out.Int(record.fence.value);
  out.Int(record.attempt);
  out.Time(record.reserve_time);
  out.String(record.owner);
  out.String(record.fingerprint);
  if (pending != nullptr) {
    WritePending(*pending, out);
  } else {
    WriteCommitted(*committed, out);
  }
  if (!record.trace.empty()) {
    out.Fixed(record.trace.trace_id.data(), record.trace.trace_id.size());
    out.Fixed(record.trace.span_id.data(), record.trace.span_id.size());
  }
  return std::move(out).Seal();
}

absl::StatusOr<Record> DecodeRecord(absl::string_view bytes) {
  if (!Unseal(bytes)) return absl::DataLossError("a stored record has a wrong checksum");
  WireReader in(bytes);
  const std::uint8_t version = ReadVersion(in);
  const auto state = static_cast<StoredState>(in.Int<std::uint8_t>());
  in.Require(state == StoredState::kPending || state == StoredState::kCommitted);
  const absl::Time expires_at = in.Time();
  Record record;
  record.token.epoch.value = in.Int<std::uint32_t>();
  in.Fixed(record.token.bits.data(), record.token.bits.size());
  record.fence.value = in.Int<std::int64_t>();
  record.attempt = in.Int<std::uint32_t>();
  record.reserve_time = in.Time();
  record.owner = std::string(in.String());
  record.fingerprint = std::string(in.String());
  if (state == StoredState::kPending) {
    record.phase = ReadPending(expires_at, in);
  } else {
    record.phase = ReadCommitted(expires_at, in);
  }
  if (version == kVersionWithTrace) record.trace = ReadTrace(in);
  in.Require(in.left() == 0);
  if (!in.ok()) return absl::DataLossError("a stored record is not in any format known");
  return record;
}

absl::Time ExpiryOf(absl::string_view bytes) {
  WireReader in(bytes);
  ReadVersion(in);
  const auto state = static_cast<StoredState>(in.Int<std::uint8_t>());
  in.Require(state == StoredState::kPending || state == StoredState::kCommitted);
  const absl::Time expires_at = in.Time();
  return in.ok() ? expires_at : absl::InfiniteFuture();
}

bool HoldsPending(absl::string_view bytes) {
  WireReader in(bytes);
  ReadVersion(in);
  in.Require(in.Int<std::uint8_t>() == static_cast<std::uint8_t>(StoredState::kPending));
  return in.ok();
}

std::string EncodeKey(const RecordKey& key) {
  ONCED_CHECK(key.name_space.find('\0') == std::string::npos);
  std::string bytes;
  bytes.reserve(key.name_space.size() + 1 + key.key.size());
  bytes.append(key.name_space).push_back('\0');
  return bytes.append(key.key);
}

std::string ScanBegin(const ScanRange& range) {
  std::string prefix = EncodeKey({range.name_space, range.key_prefix});
  if (range.after.empty()) return prefix;
  // What comes right behind it.
  return std::max(prefix, EncodeKey({range.name_space, range.after}) + '\0');
}

std::string ScanEnd(const ScanRange& range) {
  std::string end = EncodeKey({range.name_space, range.key_prefix});
  while (end.back() == '\xff') end.pop_back();  // The zero byte stops it.
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

absl::StatusOr<RecordKey> DecodeKey(absl::string_view bytes) {
  const std::size_t end = bytes.find('\0');
  if (end == absl::string_view::npos) return absl::DataLossError("a stored key has no namespace");
  return RecordKey{std::string(bytes.substr(0, end)), std::string(bytes.substr(end + 1))};
}

}  // namespace onced
