#include "client/cpp/utf8.h"

#include <algorithm>

namespace onced::client {
namespace {

// How many bytes the character at the front has; 0: there is none. By table 3-7 of Unicode's
// chapter 3: no surrogates, nothing longer than it need be, nothing above U+10FFFF.
std::size_t CharacterOf(std::string_view text) {
  const struct {
    unsigned char lead_min, lead_max;
    unsigned char second_min, second_max;
    std::size_t bytes;
  } kRows[] = {
      {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
      {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
      {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  const auto in = [&](std::size_t i, unsigned char min, unsigned char max) {
    const auto byte = static_cast<unsigned char>(text[i]);
    return byte >= min && byte <= max;
  };
  for (const auto& row : kRows) {
    if (!in(0, row.lead_min, row.lead_max) || text.size() < row.bytes) continue;
    if (row.bytes > 1 && !in(1, row.second_min, row.second_max)) continue;
    for (std::size_t i = 2; i < row.bytes; ++i) {
      if (!in(i, 0x80, 0xbf)) return 0;
    }
    return row.bytes;
  }
  return 0;
}

}  // namespace

std::string ToUtf8(std::string_view text, std::size_t bytes) {
  std::string utf8;
  while (!text.empty() && utf8.size() < bytes) {
    const std::size_t taken = CharacterOf(text);
    utf8 += taken > 0 ? text.substr(0, taken) : "\xef\xbf\xbd";
    text.remove_prefix(std::max<std::size_t>(taken, 1));
  }
  return utf8;
}

}  // namespace onced::client
