#include "event_id.h"

#include <cstddef>

namespace webhook {
namespace {

constexpr std::size_t kBytesMax = 200;  // A key of onced has 256, and the source is in it.

bool IsVisible(char c) { return c > 0x20 && c < 0x7f; }

absl::StatusOr<std::string> ReadBare(std::string_view value) {
  for (const char c : value) {
    if (!IsVisible(c) || c == '"' || c == ',') {
      return absl::InvalidArgumentError("the event's id has characters that it can't have");
    }
  }
  return std::string(value);
}

// RFC 8941, section 3.3.3. `value` starts with a quote.
absl::StatusOr<std::string> ReadQuoted(std::string_view value) {
  const absl::Status malformed =
      absl::InvalidArgumentError("the event's id isn't a string as of RFC 8941");
  std::string id;
  for (std::size_t i = 1; i < value.size(); ++i) {
    char c = value[i];
    if (c == '"') {
      if (i + 1 != value.size()) return malformed;
      return id;
    }
    if (c == '\\') {
      if (++i == value.size()) return malformed;
      c = value[i];
      if (c != '"' && c != '\\') return malformed;
    }
    if (c != ' ' && !IsVisible(c)) return malformed;
    id.push_back(c);
  }
  return malformed;
}

}  // namespace

absl::StatusOr<std::string> ReadEventId(std::string_view value) {
  absl::StatusOr<std::string> id = value.starts_with('"') ? ReadQuoted(value) : ReadBare(value);
  if (id.ok() && (id->empty() || id->size() > kBytesMax)) {
    return absl::InvalidArgumentError("the event's id doesn't have 1 to 200 bytes");
  }
  return id;
}

}  // namespace webhook
