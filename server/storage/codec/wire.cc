#include "server/storage/codec/wire.h"

#include <cstring>
#include <limits>
#include <utility>

#include "server/base/check.h"
#include "server/storage/codec/crc32c.h"

namespace onced {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::int64_t StoredTime(absl::Time time) {
  if (time == absl::InfiniteFuture()) return kMax;
  if (time == absl::InfinitePast()) return kMin;
  return absl::ToUnixMicros(time);
}

absl::Time TimeFromStored(std::int64_t micros) {
  if (micros == kMax) return absl::InfiniteFuture();
  if (micros == kMin) return absl::InfinitePast();
  return absl::FromUnixMicros(micros);
}

std::int64_t StoredDuration(absl::Duration duration) {
  return absl::ToInt64Microseconds(duration);  // Saturates as the format wants it.
}

absl::Duration DurationFromStored(std::int64_t micros) {
  if (micros == kMax) return absl::InfiniteDuration();
  if (micros == kMin) return -absl::InfiniteDuration();
  return absl::Microseconds(micros);
}

void WireWriter::String(absl::string_view bytes) {
  ONCED_CHECK(bytes.size() <= std::numeric_limits<std::uint32_t>::max());
  Int(static_cast<std::uint32_t>(bytes.size()));
  out_.append(bytes.data(), bytes.size());
}

std::string WireWriter::Seal() && {
  Int(Crc32c(out_));
  return std::move(out_);
}

void WireReader::Fixed(void* out, std::size_t size) {
  const absl::string_view bytes = Take(size);
  std::memset(out, 0, size);
  std::memcpy(out, bytes.data(), bytes.size());
}

absl::string_view WireReader::Take(std::size_t size) {
  Require(size <= rest_.size());
  if (!ok_) return absl::string_view("", 0);
  const absl::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

bool Unseal(absl::string_view& sealed) {
  constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);
  if (sealed.size() < kChecksumBytes) return false;
  WireReader checksum(sealed.substr(sealed.size() - kChecksumBytes));
  sealed.remove_suffix(kChecksumBytes);
  return checksum.Int<std::uint32_t>() == Crc32c(sealed);
}

}  // namespace onced
