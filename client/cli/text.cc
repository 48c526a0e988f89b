#include "client/cli/text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/cpp/duration.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/time_util.h"
#include "google/protobuf/wrappers.pb.h"

namespace onced::cli {
namespace {

// The bytes a character takes by its first byte; 0 if none starts with it.
std::size_t LengthByFirst(std::uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// The bytes of the character that `bytes` start with; 0 if they aren't UTF-8
// there. Refuses overlong forms, surrogates and what lies above U+10FFFF.
std::size_t CharacterLength(absl::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::size_t length = bytes.empty() ? 0 : LengthByFirst(at(0));
  if (length == 0 || length > bytes.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  if (at(0) == 0xE0 && at(1) < 0xA0) return 0;
  if (at(0) == 0xED && at(1) > 0x9F) return 0;
  if (at(0) == 0xF0 && at(1) < 0x90) return 0;
  if (at(0) == 0xF4 && at(1) > 0x8F) return 0;
  return length;
}

// Unicode's category Cc: U+0000 to U+001F, U+007F to U+009F.
bool IsControl(absl::string_view character) {
  const auto first = static_cast<std::uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<std::uint8_t>(character[1]) < 0xA0;
}

std::string HexEscaped(absl::string_view bytes) {
  std::string escaped;
  for (const char byte : bytes) {
    absl::StrAppendFormat(&escaped, "\\x%02x", static_cast<std::uint8_t>(byte));
  }
  return escaped;
}

}  // namespace

bool IsUtf8(absl::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = CharacterLength(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string Printable(absl::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = CharacterLength(bytes);
    const absl::string_view character = bytes.substr(0, std::max<std::size_t>(length, 1));
    const bool plain = length > 0 && !IsControl(character);
    absl::StrAppend(&text, plain ? std::string(character) : HexEscaped(character));
    bytes.remove_prefix(character.size());
  }
  return text;
}

bool IsPlainText(absl::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = CharacterLength(bytes);
    if (length == 0) return false;
    const absl::string_view character = bytes.substr(0, length);
    if (IsControl(character) && character != "\n" && character != "\t") return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string JsonString(absl::string_view text) {
  google::protobuf::StringValue value;
  value.set_value(IsUtf8(text) ? std::string(text) : Printable(text));
  std::string json;
  // Ignored: a string in UTF-8 always has a JSON form.
  (void)google::protobuf::util::MessageToJsonString(value, &json);
  return json;
}

std::string DurationJson(absl::Duration duration) {
  return google::protobuf::util::TimeUtil::ToString(client::ToProto(duration));
}

std::string Table::Text() const {
  std::vector<std::size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      absl::StrAppend(&text, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, row.back(), "\n");  // Nothing behind the last one.
  }
  return text;
}

void Lines::Add(absl::string_view name, absl::string_view value) {
  lines_.emplace_back(name, value);
}

std::string Lines::Text(std::size_t indent) const {
  std::size_t width = 0;
  for (const auto& [name, value] : lines_) width = std::max(width, name.size());
  const std::string margin(indent, ' ');
  const std::string below = absl::StrCat("\n", margin, std::string(width + 2, ' '));
  std::string text;
  for (const auto& [name, value] : lines_) {
    const std::string padding(value.empty() ? 0 : width - name.size() + 1, ' ');
    absl::StrAppend(&text, margin, name, ":", padding, absl::StrReplaceAll(value, {{"\n", below}}),
                    "\n");
  }
  return text;
}

bool IsTraceparent(absl::string_view text) {
  constexpr absl::string_view kPattern = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
  if (text.size() < kPattern.size()) return false;
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool digit = absl::ascii_isdigit(text[i]) || (text[i] >= 'a' && text[i] <= 'f');
    if (kPattern[i] == 'x' ? !digit : text[i] != '-') return false;
  }
  return text.size() == kPattern.size() || text[kPattern.size()] == '-';
}

}  // namespace onced::cli
