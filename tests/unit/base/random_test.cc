#include "server/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <vector>

namespace onced {
namespace {

using Bits = std::array<std::uint8_t, 16>;

TEST(SystemRandom, NeverRepeats) {
  SystemRandom random;
  std::vector<Bits> drawn(100'000);
  for (Bits& bits : drawn) bits = random.Draw<Bits>();
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
}

TEST(SystemRandom, TwoOfThemDiffer) {
  SystemRandom a;
  SystemRandom b;
  EXPECT_NE(a.Draw<Bits>(), b.Draw<Bits>());
}

// Each size straddles the end of the buffer of 4096 bytes in another way. Bytes that were not
// filled would still be zero in all of 8 tries: by chance once in 2^64.
TEST(SystemRandom, FillsAllOfWhatItIsAskedForAndNoMore) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{7}, std::size_t{1000}, std::size_t{4095}, std::size_t{4096},
        std::size_t{4097}, std::size_t{8192}, std::size_t{10'000}}) {
    SystemRandom random;
    std::vector<std::uint8_t> seen(size, 0);
    for (int i = 0; i < 8; ++i) {
      std::vector<std::uint8_t> bytes(size + 2, 0);
      random.Fill(bytes.data() + 1, size);
      EXPECT_EQ(bytes.front(), 0) << size;
      EXPECT_EQ(bytes.back(), 0) << size;
      for (std::size_t at = 0; at < size; ++at) seen[at] |= bytes[at + 1];
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 0) << size;
  }
}

TEST(SystemRandom, FillsNothingWithNothing) {
  SystemRandom random;
  random.Fill(nullptr, 0);
}

// Half of the bits are set, by 20 standard deviations.
TEST(SystemRandom, IsNotBiased) {
  SystemRandom random;
  std::size_t set = 0;
  constexpr std::size_t kDraws = 10'000;
  for (std::size_t i = 0; i < kDraws; ++i) {
    set += std::bitset<64>(random.Draw<std::uint64_t>()).count();
  }
  EXPECT_NEAR(static_cast<double>(set), kDraws * 32.0, 20 * 400.0);
}

class Sevens final : public Random {
 public:
  void Fill(void* out, std::size_t size) override { std::memset(out, 7, size); }
};

TEST(Random, DrawsValuesOfAnyPlainType) {
  Sevens random;
  EXPECT_EQ(random.Draw<std::uint32_t>(), 0x07070707U);
  EXPECT_EQ(random.Draw<std::uint8_t>(), 7);
}

}  // namespace
}  // namespace onced
