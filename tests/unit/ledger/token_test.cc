#include "server/ledger/token.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "absl/strings/ascii.h"

namespace onced {
namespace {

// Counts: 0, 1, 2, ...
class CountingRandom final : public Random {
 public:
  void Fill(void* out, std::size_t size) override {
    for (std::size_t i = 0; i < size; ++i) static_cast<std::uint8_t*>(out)[i] = next_++;
  }

 private:
  std::uint8_t next_ = 0;
};

constexpr char kText[] = "0000002a-000102030405060708090a0b0c0d0e0f";

bool IsNobodys(const Token& token) { return token == Token{}; }

TEST(Token, IsMintedFromSixteenRandomBytesInItsEpoch) {
  CountingRandom random;
  const Token token = Token::Mint({42}, random);
  EXPECT_EQ(token.epoch, Epoch{42});
  EXPECT_EQ(token.ToText(), kText);
  EXPECT_EQ(Token::Mint({42}, random).ToText(), "0000002a-101112131415161718191a1b1c1d1e1f");
}

TEST(Token, ReadsWhatItWrote) {
  SystemRandom random;
  for (int i = 0; i < 1000; ++i) {
    const Token token = Token::Mint({random.Draw<std::uint32_t>()}, random);
    EXPECT_TRUE(Token::FromText(token.ToText()) == token) << token.ToText();
  }
  const Token highest{{0xffffffff}, {0xff, 0x80, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe}};
  EXPECT_TRUE(Token::FromText(highest.ToText()) == highest) << highest.ToText();
  EXPECT_TRUE(Token::FromText(Token{}.ToText()) == Token{});
}

TEST(Token, DoesNotSayWhatItsTextCannotBe) {
  const std::string text = kText;
  const struct {
    const char* name;
    std::string text;
  } rows[] = {
      {"empty", ""},
      {"short", text.substr(0, text.size() - 1)},
      {"long", text + "0"},
      {"space_before", " " + text},
      {"space_after", text + " "},
      {"newline", text + "\n"},
      {"no_dash", "0000002a0000102030405060708090a0b0c0d0e0f"},
      {"dash_early", "0000002-a000102030405060708090a0b0c0d0e0f"},
      {"underscore", "0000002a_000102030405060708090a0b0c0d0e0f"},
      {"upper_case", absl::AsciiStrToUpper(text)},
      {"upper_case_epoch", "0000002A-000102030405060708090a0b0c0d0e0f"},
      {"upper_case_bits", "0000002a-000102030405060708090A0b0c0d0e0f"},
      {"letter_g", "0000002a-g00102030405060708090a0b0c0d0e0f"},
      {"letter_g_epoch", "g000002a-000102030405060708090a0b0c0d0e0f"},
      {"sign", "+000002a-000102030405060708090a0b0c0d0e0f"},
      {"hex_prefix", "0x00002a-000102030405060708090a0b0c0d0e0f"},
      {"nul", std::string("0000002a-000102030405060708090a0b0c0d0e0\0", 41)},
      {"nul_first", std::string("\0", 1) + text.substr(1)},
      {"dashes", std::string(41, '-')},
      {"high_bytes", std::string(41, '\xff')},
      {"uuid", "123e4567-e89b-12d3-a456-426614174000"},
      {"huge", std::string(1 << 20, 'a')},
  };
  for (const auto& row : rows) EXPECT_TRUE(IsNobodys(Token::FromText(row.text))) << row.name;
}

// Whatever text is read as a token is that token's only text.
TEST(Token, HasOneTextAlone) {
  const std::string text = kText;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string changed = text;
      changed[at] = static_cast<char>(c);
      const Token token = Token::FromText(changed);
      EXPECT_TRUE(IsNobodys(token) || token.ToText() == changed) << at << " " << c;
    }
  }
}

TEST(Token, DiffersInEveryBit) {
  const Token token = Token::FromText(kText);
  for (std::size_t byte = 0; byte < sizeof token; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::array<unsigned char, sizeof token> bytes;
      std::memcpy(bytes.data(), &token, sizeof token);
      bytes[byte] ^= static_cast<unsigned char>(1 << bit);
      Token other;
      std::memcpy(&other, bytes.data(), sizeof other);
      EXPECT_TRUE(other != token) << byte << " " << bit;
    }
  }
}

TEST(Token, IsNeverDrawnTwice) {
  SystemRandom random;
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i)
    EXPECT_TRUE(seen.insert(Token::Mint({1}, random).ToText()).second);
}

TEST(Fence, IsOrdered) {
  EXPECT_LT(Fence{1}, Fence{2});
  EXPECT_EQ(Fence{2}, Fence{2});
}

}  // namespace
}  // namespace onced
