#include "server/base/trace_context.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace onced {
namespace {

// "00-" trace-id "-" parent-id "-" flags, in lower-case hexadecimal digits.
constexpr std::size_t kTraceIdAt = 3;
constexpr std::size_t kParentIdAt = 36;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kLength = 55;
constexpr std::uint8_t kSampled = 1;

constexpr std::size_t kMembersMax = 32;
constexpr std::size_t kStateMax = 512;
constexpr std::size_t kKeyMax = 256;
constexpr std::size_t kTenantMax = 241;
constexpr std::size_t kSystemMax = 14;
constexpr std::size_t kValueMax = 256;

// -1: no lower-case digit.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// False, and `bytes` are of no use, if there are other characters in it.
template <std::size_t kSize>
bool Hex(absl::string_view text, std::array<std::uint8_t, kSize>& bytes) {
  for (std::size_t i = 0; i < kSize; ++i) {
    const int high = DigitOf(text[2 * i]);
    const int low = DigitOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

template <std::size_t kSize>
bool IsZero(const std::array<std::uint8_t, kSize>& bytes) {
  return bytes == std::array<std::uint8_t, kSize>{};
}

bool IsKeyPart(absl::string_view text, std::size_t size_max) {
  return !text.empty() && text.size() <= size_max &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_' || c == '-' ||
                  c == '*' || c == '/';
         });
}

// "vendor" or "tenant@vendor"; a tenant may begin with a digit.
bool IsKey(absl::string_view key) {
  const std::size_t at = key.find('@');
  if (at == absl::string_view::npos) return IsKeyPart(key, kKeyMax) && absl::ascii_islower(key[0]);
  const absl::string_view tenant = key.substr(0, at);
  const absl::string_view system = key.substr(at + 1);
  return IsKeyPart(tenant, kTenantMax) &&
         (absl::ascii_islower(tenant[0]) || absl::ascii_isdigit(tenant[0])) &&
         IsKeyPart(system, kSystemMax) && absl::ascii_islower(system[0]);
}

bool IsValue(absl::string_view value) {
  return !value.empty() && value.size() <= kValueMax && value.back() != ' ' &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return c >= 0x20 && c <= 0x7e && c != ',' && c != '='; });
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(absl::string_view text) {
  if (text.size() < kLength) return std::nullopt;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  TraceContext context;
  const bool digits = Hex(text, version) && Hex(text.substr(kTraceIdAt), context.parent.trace_id) &&
                      Hex(text.substr(kParentIdAt), context.parent.span_id) &&
                      Hex(text.substr(kFlagsAt), flags);
  const bool dashes =
      text[kTraceIdAt - 1] == '-' && text[kParentIdAt - 1] == '-' && text[kFlagsAt - 1] == '-';
  if (!digits || !dashes || version[0] == 0xff) return std::nullopt;
  if (IsZero(context.parent.trace_id) || IsZero(context.parent.span_id)) return std::nullopt;
  const bool longer = text.size() > kLength;
  if (longer && (version[0] == 0 || text[kLength] != '-')) return std::nullopt;
  context.sampled = (flags[0] & kSampled) != 0;
  return context;
}

bool IsTracestate(absl::string_view text) {
  if (text.size() > kStateMax) return false;
  std::vector<absl::string_view> keys;
  for (absl::string_view member : absl::StrSplit(text, ',')) {
    while (!member.empty() && (member.front() == ' ' || member.front() == '\t')) {
      member.remove_prefix(1);
    }
    while (!member.empty() && (member.back() == ' ' || member.back() == '\t')) {
      member.remove_suffix(1);
    }
    if (member.empty()) continue;  // Which the grammar allows.
    const std::size_t equals = member.find('=');
    if (equals == absl::string_view::npos) return false;
    const absl::string_view key = member.substr(0, equals);
    if (!IsKey(key) || !IsValue(member.substr(equals + 1))) return false;
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return false;
    keys.push_back(key);
  }
  return !keys.empty() && keys.size() <= kMembersMax;
}

}  // namespace onced
