// The checksum of everything stored.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace onced {

// CRC-32C (Castagnoli) of `bytes`, as in RFC 3720. Written here: the packaged
// Abseil has none yet, zlib's is another polynomial, and RocksDB's is out of
// reach for a codec that backends without RocksDB share.
std::uint32_t Crc32c(absl::string_view bytes);

}  // namespace onced
