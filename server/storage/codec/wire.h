// The building blocks of everything stored: little-endian integers, byte
// strings preceded by their length, times, and a checksum at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced {

// Microseconds since 1970. INT64_MAX is InfiniteFuture ("never"), INT64_MIN is
// InfinitePast; what lies beyond them, or below a microsecond, is cut off.
std::int64_t StoredTime(absl::Time time);
absl::Time TimeFromStored(std::int64_t micros);
// Microseconds; INT64_MAX and INT64_MIN are the infinite durations.
std::int64_t StoredDuration(absl::Duration duration);
absl::Duration DurationFromStored(std::int64_t micros);

// Appends values to a string.
class WireWriter {
 public:
  template <typename Integer>
  void Int(Integer value) {
    const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
    char bytes[sizeof bits];
    for (std::size_t i = 0; i < sizeof bits; ++i) {
      bytes[i] = static_cast<char>(bits >> (8 * i) & 0xff);
    }
    out_.append(bytes, sizeof bits);
  }
  void Time(absl::Time time) { Int(StoredTime(time)); }
  void Duration(absl::Duration duration) { Int(StoredDuration(duration)); }
  void Fixed(const void* bytes, std::size_t size) {
    out_.append(static_cast<const char*>(bytes), size);
  }
  void String(absl::string_view bytes);  // u32 length | bytes
  void Reserve(std::size_t size) { out_.reserve(size); }
  // Appends the checksum of all that was written, and gives it away.
  std::string Seal() &&;

 private:
  std::string out_;
};

// Takes values off a byte string that may hold anything.
//
// Promise: never reads past the end. What can't be read is zero or empty, and
//          ok() is false from then on, so one question at the end is enough.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : rest_(bytes) {}

  template <typename Integer>
  Integer Int() {
    std::make_unsigned_t<Integer> bits = 0;
    const absl::string_view bytes = Take(sizeof bits);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bits |= static_cast<std::make_unsigned_t<Integer>>(
          static_cast<std::make_unsigned_t<Integer>>(static_cast<unsigned char>(bytes[i]))
          << (8 * i));
    }
    return static_cast<Integer>(bits);
  }
  absl::Time Time() { return TimeFromStored(Int<std::int64_t>()); }
  absl::Duration Duration() { return DurationFromStored(Int<std::int64_t>()); }
  void Fixed(void* out, std::size_t size);
  absl::string_view String() { return Take(Int<std::uint32_t>()); }

  // Makes ok() false unless the condition holds: it is a rule of the format.
  void Require(bool condition) { ok_ = ok_ && condition; }
  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }

 private:
  absl::string_view Take(std::size_t size);  // Empty if there is less.

  absl::string_view rest_;
  bool ok_ = true;
};

// Whether `sealed` ends with the checksum of what stands before it; that is
// then left in `sealed`.
bool Unseal(absl::string_view& sealed);

}  // namespace onced
