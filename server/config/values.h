// Text of an operator to values. Each failure's message is the rule that the
// text broke, such as "must be a whole number from 1 to 256"; the caller adds
// the setting's name, its source and the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/config/config.h"

namespace onced {

// Bounds are inclusive.
absl::StatusOr<std::uint64_t> ParseWhole(absl::string_view text, std::uint64_t min,
                                         std::uint64_t max);
// Bytes: a whole number, with KiB, MiB or GiB or without.
absl::StatusOr<std::uint64_t> ParseBytes(absl::string_view text, std::uint64_t min,
                                         std::uint64_t max);
// Such as 500ms, 15s, 1h30m, and days: 30d. Whole microseconds.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text, absl::Duration min,
                                             absl::Duration max);
// HOST:PORT or [V6]:PORT.
absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text);
// Whether it is of this machine alone: 127.x.x.x, [::1] or localhost.
bool IsLoopback(const Endpoint& endpoint);
// The index of `text` in `words`.
absl::StatusOr<std::size_t> ParseWord(absl::string_view text,
                                      absl::Span<const absl::string_view> words);
// http or https, without user, query and fragment.
absl::StatusOr<std::string> ParseUrl(absl::string_view text);
// Whether such a URL is of this machine alone.
bool IsLoopbackUrl(absl::string_view url);
// 0 to 1.
absl::StatusOr<double> ParseRatio(absl::string_view text);
// What paths are made of: not empty, no NUL.
absl::StatusOr<std::string> ParsePath(absl::string_view text);

// Moves a parsed value to where it belongs, or passes the failure on.
template <typename From, typename To>
absl::Status Assign(absl::StatusOr<From> parsed, To& to) {
  if (!parsed.ok()) return parsed.status();
  to = static_cast<To>(*std::move(parsed));
  return absl::OkStatus();
}

// "512MiB": the largest unit that divides it.
std::string BytesToText(std::uint64_t bytes);

}  // namespace onced
