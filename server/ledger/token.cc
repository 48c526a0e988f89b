#include "server/ledger/token.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace onced {
namespace {

constexpr std::size_t kEpochDigits = 8;
constexpr std::size_t kBitsDigits = 32;

bool IsLowerHex(absl::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

}  // namespace

Token Token::Mint(Epoch epoch, Random& random) {
  return Token{.epoch = epoch, .bits = random.Draw<decltype(Token::bits)>()};
}

std::string Token::ToText() const {
  return absl::StrCat(absl::Hex(epoch.value, absl::kZeroPad8), "-",
                      ToHex({reinterpret_cast<const char*>(bits.data()), bits.size()}));
}

Token Token::FromText(absl::string_view text) {
  if (text.size() != kEpochDigits + 1 + kBitsDigits || text[kEpochDigits] != '-') return {};
  const absl::string_view epoch_text = text.substr(0, kEpochDigits);
  const absl::string_view bits_text = text.substr(kEpochDigits + 1);
  if (!IsLowerHex(epoch_text) || !IsLowerHex(bits_text)) return {};
  Token token;
  for (const char c : absl::HexStringToBytes(epoch_text)) {
    token.epoch.value = token.epoch.value << 8 | static_cast<std::uint8_t>(c);
  }
  const std::string bits = absl::HexStringToBytes(bits_text);
  std::copy(bits.begin(), bits.end(), token.bits.begin());
  return token;
}

}  // namespace onced
