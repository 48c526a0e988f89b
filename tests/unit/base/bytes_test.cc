#include "server/base/bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace onced {
namespace {

// FIPS 180-4's examples, and the lengths round a block of 64 bytes, of which the padding takes 9.
// Those of the latter are from sha256sum.
const struct {
  const char* name;
  std::string bytes;
  const char* digest;
} kDigests[] = {
    {"empty", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"two_blocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"four_blocks",
     "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qr"
     "smnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"a_million_a", std::string(1'000'000, 'a'),
     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    {"zeros_55", std::string(55, '\0'),
     "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
    {"zeros_56", std::string(56, '\0'),
     "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
    {"zeros_64", std::string(64, '\0'),
     "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
};

TEST(Sha256, GivesThePublishedDigests) {
  for (const auto& row : kDigests) {
    EXPECT_EQ(ToHex(Sha256(row.bytes)), row.digest) << row.name;
    EXPECT_EQ(Sha256(row.bytes).size(), 32U) << row.name;
  }
}

TEST(SecretsEqual, ComparesEveryByte) {
  const std::string secret("s3cr\0et\xff", 8);
  EXPECT_TRUE(SecretsEqual(secret, std::string(secret)));
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string other = secret;
    other[i] ^= 1;
    EXPECT_FALSE(SecretsEqual(secret, other)) << i;
  }
}

TEST(SecretsEqual, ComparesLengths) {
  EXPECT_TRUE(SecretsEqual("", ""));
  EXPECT_FALSE(SecretsEqual("", "a"));
  EXPECT_FALSE(SecretsEqual("a", ""));
  EXPECT_FALSE(SecretsEqual("abc", "ab"));
  EXPECT_FALSE(SecretsEqual("ab", "abc"));
  EXPECT_TRUE(SecretsEqual(absl::string_view(), ""));
}

TEST(ToHex, IsLowerCase) {
  EXPECT_EQ(ToHex(""), "");
  EXPECT_EQ(ToHex(absl::string_view("\x00\x0f\xa0\xff", 4)), "000fa0ff");
}

}  // namespace
}  // namespace onced
