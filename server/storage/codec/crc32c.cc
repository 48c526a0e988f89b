#include "server/storage/codec/crc32c.h"

#include <array>
#include <cstddef>

namespace onced {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Bits reversed.
constexpr std::size_t kSlices = 8;                 // Bytes taken in one step.

using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

// tables[n][b]: what byte b does to the checksum when n more bytes follow it.
constexpr Tables MakeTables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t n = 1; n < kSlices; ++n) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[n - 1][byte];
      tables[n][byte] = (shorter >> 8) ^ tables[0][shorter & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

std::uint32_t LittleEndian(const unsigned char* at) {
  return at[0] | at[1] << 8 | at[2] << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}

}  // namespace

std::uint32_t Crc32c(absl::string_view bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  std::uint32_t crc = 0xffffffff;
  for (; left >= kSlices; at += kSlices, left -= kSlices) {
    const std::uint32_t low = crc ^ LittleEndian(at);
    const std::uint32_t high = LittleEndian(at + 4);
    crc = kTables[7][low & 0xff] ^ kTables[6][low >> 8 & 0xff] ^ kTables[5][low >> 16 & 0xff] ^
          kTables[4][low >> 24] ^ kTables[3][high & 0xff] ^ kTables[2][high >> 8 & 0xff] ^
          kTables[1][high >> 16 & 0xff] ^ kTables[0][high >> 24];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

}  // namespace onced
