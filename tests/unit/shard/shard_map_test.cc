#include "server/shard/shard_map.h"

#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/printers.h"

namespace onced {
namespace {

using Key = std::array<std::uint8_t, 16>;

Key CountingKey() {
  Key key;
  for (std::uint8_t i = 0; i < 16; ++i) key[i] = i;
  return key;
}
std::string CountingBytes(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

// Another implementation of the same function.
std::uint64_t SipHashOfOpenSsl(const Key& key, const std::string& bytes) {
  const std::unique_ptr<EVP_MAC, void (*)(EVP_MAC*)> mac(EVP_MAC_fetch(nullptr, "SIPHASH", nullptr),
                                                         EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, void (*)(EVP_MAC_CTX*)> context(EVP_MAC_CTX_new(mac.get()),
                                                                     EVP_MAC_CTX_free);
  std::size_t size = 8;
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t("size", &size),
                               OSSL_PARAM_construct_end()};
  std::uint8_t out[8] = {};
  std::size_t written = 0;
  EXPECT_EQ(EVP_MAC_init(context.get(), key.data(), key.size(), params), 1);
  EXPECT_EQ(EVP_MAC_update(context.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()),
                           bytes.size()),
            1);
  EXPECT_EQ(EVP_MAC_final(context.get(), out, &written, sizeof out), 1);
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | out[i];
  return value;
}

TEST(SipHash, IsThatOfThePaper) {
  // Appendix A of the paper, and the first of the authors' published vectors.
  EXPECT_EQ(SipHash(CountingKey(), CountingBytes(15)), 0xa129ca6149be45e5u);
  EXPECT_EQ(SipHash(CountingKey(), ""), 0x726fdb47dd0e0e31u);
}

TEST(SipHash, AgreesWithAnotherImplementation) {
  std::mt19937_64 random(1);
  for (std::size_t size = 0; size <= 64; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    Key key;
    for (std::uint8_t& byte : key) byte = static_cast<std::uint8_t>(random());
    EXPECT_EQ(SipHash(key, bytes), SipHashOfOpenSsl(key, bytes)) << size << " bytes";
    EXPECT_EQ(SipHash(CountingKey(), CountingBytes(size)),
              SipHashOfOpenSsl(CountingKey(), CountingBytes(size)))
        << size << " bytes";
  }
}

StoreIdentity Identity(std::uint32_t shards, std::uint8_t seed) {
  StoreIdentity identity{.shards = shards};
  identity.hash_seed.fill(seed);
  return identity;
}

// Placement is on disk: it may never change for a given seed. The hash is that
// of namespace, a zero byte, and key.
TEST(ShardMap, PlacesByTheHashOfNamespaceAndKey) {
  const StoreIdentity identity{.shards = 1000, .hash_seed = CountingKey()};
  const std::uint64_t hash = SipHashOfOpenSsl(CountingKey(), std::string("ns\0key", 6));
  EXPECT_EQ(ShardMap(identity).ShardOf({"ns", "key"}), ShardId{std::uint32_t(hash % 1000)});
}

TEST(ShardMap, SpreadsKeysEvenly) {
  constexpr std::uint32_t kShards = 16;
  constexpr int kKeys = 100'000;
  const ShardMap map(Identity(kShards, 1));
  std::vector<int> counts(kShards);
  for (int i = 0; i < kKeys; ++i) ++counts.at(map.ShardOf({"orders", absl::StrCat("k", i)}).value);
  const double expected = double{kKeys} / kShards;
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 37.7);  // 15 degrees of freedom, p = 0.001.
}

TEST(ShardMap, AnotherSeedIsAnotherPlacement) {
  const ShardMap one(Identity(16, 1)), same(Identity(16, 1)), other(Identity(16, 2));
  int moved = 0;
  for (int i = 0; i < 1'600; ++i) {
    const RecordKey key{"ns", absl::StrCat("k", i)};
    EXPECT_EQ(one.ShardOf(key), same.ShardOf(key));
    moved += one.ShardOf(key) != other.ShardOf(key);
  }
  EXPECT_GT(moved, 1'400);  // 1,500 on average.
}

TEST(ShardMap, NamespaceAndKeyDoNotRunTogether) {
  const ShardMap map(Identity(1u << 31, 1));
  EXPECT_NE(map.ShardOf({"ab", "c"}), map.ShardOf({"a", "bc"}));
}

TEST(ShardMap, OneShardTakesAll) {
  const ShardMap map(Identity(1, 1));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(map.ShardOf({"ns", absl::StrCat(i)}), ShardId{0});
}

}  // namespace
}  // namespace onced
