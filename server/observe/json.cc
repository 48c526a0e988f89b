#include "server/observe/json.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onced {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // In bytes; 0: no valid UTF-8 here.
};

// The first code point of `text`, which is not empty (RFC 3629).
CodePoint Decode(absl::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  // By length: the least value, since a shorter form must be used below it.
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const std::size_t length = lead < 0xC0   ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF8 ? 4
                                           : 0;
  if (length == 0 || length > text.size()) return {};
  std::uint32_t value = lead & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[length] || surrogate || value > 0x10FFFF) return {};
  return {value, length};
}

bool IsControl(std::uint32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

}  // namespace

void AppendJsonString(absl::string_view text, std::string& out) {
  out.push_back('"');
  while (!text.empty()) {
    const CodePoint c = Decode(text);
    if (c.length == 0) {
      out.append("\\ufffd");
    } else if (c.value == '"' || c.value == '\\') {
      out.push_back('\\');
      out.push_back(text[0]);
    } else if (c.value == '\n') {
      out.append("\\n");
    } else if (IsControl(c.value)) {
      absl::StrAppendFormat(&out, "\\u%04x", c.value);
    } else {
      out.append(text.data(), c.length);
    }
    text.remove_prefix(c.length == 0 ? 1 : c.length);
  }
  out.push_back('"');
}

void AppendJsonNumber(double value, std::string& out) {
  if (std::isnan(value)) {
    out.append("\"NaN\"");
  } else if (std::isinf(value)) {
    out.append(value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  } else {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out.append(digits, end);
  }
}

}  // namespace onced
