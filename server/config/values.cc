#include "server/config/values.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/base/names.h"

namespace onced {
namespace {

using absl::InvalidArgumentError;

constexpr std::pair<absl::string_view, std::uint64_t> kByteUnits[] = {
    {"GiB", std::uint64_t{1} << 30}, {"MiB", std::uint64_t{1} << 20}, {"KiB", 1 << 10}};

// Digits and nothing else: SimpleAtoi would also take spaces and signs.
bool ToWhole(absl::string_view text, std::uint64_t& value) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, &value);
}

bool ToDuration(absl::string_view text, absl::Duration& value) {
  absl::string_view days = text;
  std::uint64_t n = 0;
  if (absl::ConsumeSuffix(&days, "d") && ToWhole(days, n) && n <= 1'000'000) {
    value = absl::Hours(24 * static_cast<std::int64_t>(n));
    return true;
  }
  return absl::ParseDuration(text, &value);
}

bool IsIpv6(absl::string_view host) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1;
}

bool IsHostName(absl::string_view host) {
  return !host.empty() && host.size() <= 253 && AreNameBytes(host);
}

}  // namespace

absl::StatusOr<std::uint64_t> ParseWhole(absl::string_view text, std::uint64_t min,
                                         std::uint64_t max) {
  std::uint64_t value = 0;
  if (!ToWhole(text, value) || value < min || value > max) {
    return InvalidArgumentError(absl::StrCat("must be a whole number from ", min, " to ", max));
  }
  return value;
}

absl::StatusOr<std::uint64_t> ParseBytes(absl::string_view text, std::uint64_t min,
                                         std::uint64_t max) {
  absl::string_view number = text;
  std::uint64_t unit = 1;
  for (const auto& [suffix, bytes] : kByteUnits) {
    if (!absl::ConsumeSuffix(&number, suffix)) continue;
    unit = bytes;
    break;
  }
  std::uint64_t value = 0;
  // Divided, not multiplied: the product may not fit.
  if (!ToWhole(number, value) || value > max / unit || value * unit < min) {
    return InvalidArgumentError(absl::StrCat("must be a number of bytes, KiB, MiB or GiB from ",
                                             BytesToText(min), " to ", BytesToText(max)));
  }
  return value * unit;
}

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text, absl::Duration min,
                                             absl::Duration max) {
  absl::Duration value;
  if (!ToDuration(text, value) || value < min || value > max) {
    return InvalidArgumentError(absl::StrCat("must be a duration such as 500ms, 15s or 24h, from ",
                                             absl::FormatDuration(min), " to ",
                                             absl::FormatDuration(max)));
  }
  if (value != absl::Floor(value, absl::Microseconds(1))) {
    return InvalidArgumentError("must be a whole number of microseconds");
  }
  return value;
}

absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text) {
  const absl::Status refused = InvalidArgumentError(
      "must be HOST:PORT or [IPV6]:PORT, with a port from 0 (any that is free) to 65535");
  const std::size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return refused;
  absl::string_view host = text.substr(0, colon);
  const absl::StatusOr<std::uint64_t> port = ParseWhole(text.substr(colon + 1), 0, 65535);
  if (!port.ok()) return refused;
  if (absl::ConsumePrefix(&host, "[")) {
    if (!absl::ConsumeSuffix(&host, "]") || !IsIpv6(host)) return refused;
  } else if (!IsHostName(host)) {
    return refused;
  }
  return Endpoint{std::string(host), static_cast<std::uint16_t>(*port)};
}

bool IsLoopback(const Endpoint& endpoint) {
  in_addr v4{};
  return endpoint.host == "localhost" || endpoint.host == "::1" ||
         (inet_pton(AF_INET, endpoint.host.c_str(), &v4) == 1 &&
          absl::StartsWith(endpoint.host, "127."));
}

absl::StatusOr<std::size_t> ParseWord(absl::string_view text,
                                      absl::Span<const absl::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    return InvalidArgumentError(absl::StrCat("must be one of: ", absl::StrJoin(words, ", ")));
  }
  return static_cast<std::size_t>(found - words.begin());
}

absl::StatusOr<std::string> ParseUrl(absl::string_view text) {
  absl::string_view rest = text;
  const bool scheme =
      absl::ConsumePrefix(&rest, "http://") || absl::ConsumePrefix(&rest, "https://");
  const bool host = !rest.empty() && rest[0] != '/' && rest[0] != ':';
  const bool plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return absl::ascii_isgraph(c) && c != '@' && c != '?' && c != '#' && c != '"' && c != '\\';
  });
  if (scheme && host && plain) return std::string(text);
  return InvalidArgumentError(
      "must be http://HOST:PORT or https://HOST:PORT, perhaps with a path, and without user");
}

bool IsLoopbackUrl(absl::string_view url) {
  url.remove_prefix(std::min(url.find("://") + 3, url.size()));
  const absl::string_view host = url.substr(0, url.find('/'));
  const bool has_port = host.find(':', host.find(']') + 1) != absl::string_view::npos;
  const auto endpoint = ParseEndpoint(has_port ? std::string(host) : absl::StrCat(host, ":0"));
  return endpoint.ok() && IsLoopback(*endpoint);
}

absl::StatusOr<double> ParseRatio(absl::string_view text) {
  double ratio = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789.") == text.npos;
  if (digits && absl::SimpleAtod(text, &ratio) && ratio >= 0 && ratio <= 1) return ratio;
  return InvalidArgumentError("must be a number from 0 to 1");
}

absl::StatusOr<std::string> ParsePath(absl::string_view text) {
  if (text.empty() || absl::StrContains(text, '\0')) {
    return InvalidArgumentError("must be a path, not empty and without NUL bytes");
  }
  return std::string(text);
}

std::string BytesToText(std::uint64_t bytes) {
  for (const auto& [suffix, unit] : kByteUnits) {
    if (bytes != 0 && bytes % unit == 0) return absl::StrCat(bytes / unit, suffix);
  }
  return absl::StrCat(bytes);
}

}  // namespace onced
