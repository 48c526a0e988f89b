// Parameters in PostgreSQL's binary format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onced::bench {

// Types by their numbers in pg_type, which never change.
inline constexpr std::uint32_t kPgBytea = 17;
inline constexpr std::uint32_t kPgText = 25;
inline constexpr std::uint32_t kPgTextArray = 1009;
inline constexpr std::uint32_t kPgByteaArray = 1001;

// An array of one dimension, without NULLs. Integers are big-endian:
//   i32 dimensions = 1 | i32 has_null = 0 | u32 type of the elements
//   i32 elements | i32 lower bound = 1 | as many times: i32 size | bytes
class PgArray {
 public:
  explicit PgArray(std::uint32_t element_type) {
    Append32(1);
    Append32(0);
    Append32(element_type);
    Append32(0);  // Counted up by Append().
    Append32(1);
  }

  void Append(std::string_view element) {
    Append32(static_cast<std::uint32_t>(element.size()));
    bytes_.append(element);
    Set32(kCountAt, ++count_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kCountAt = 12;

  void Append32(std::uint32_t value) {
    bytes_.append(4, '\0');
    Set32(bytes_.size() - 4, value);
  }
  void Set32(std::size_t at, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes_[at++] = static_cast<char>(value >> shift);
  }

  std::string bytes_;
  std::uint32_t count_ = 0;
};

}  // namespace onced::bench
