#include "server/shard/shard_map.h"

#include <bit>
#include <cstring>
#include <string>

namespace onced {
namespace {

std::uint64_t LoadLittleEndian(const void* from, std::size_t size) {
  std::uint64_t value = 0;
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Absorb(std::uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t SipHash(const std::array<std::uint8_t, 16>& key, absl::string_view bytes) {
  const std::uint64_t k0 = LoadLittleEndian(key.data(), 8);
  const std::uint64_t k1 = LoadLittleEndian(key.data() + 8, 8);
  SipState state{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                 k1 ^ 0x7465646279746573};
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) state.Absorb(LoadLittleEndian(bytes.data() + at, 8));
  const std::uint64_t length = std::uint64_t{bytes.size()} << 56;
  state.Absorb(length | LoadLittleEndian(bytes.data() + at, bytes.size() - at));
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

ShardId ShardMap::ShardOf(const RecordKey& key) const {
  std::string bytes;
  bytes.reserve(key.name_space.size() + 1 + key.key.size());
  bytes.append(key.name_space).push_back('\0');  // In no namespace: no two pairs give one string.
  bytes.append(key.key);
  return {static_cast<std::uint32_t>(SipHash(seed_, bytes) % shards_)};
}

}  // namespace onced
