// JSON in the one form of all that mean the same (RFC 8785, the JSON Canonicalization Scheme), so
// that their digests are the same.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onced::client {

// Of the text that is given, in bytes; and of arrays and objects inside one another.
inline constexpr std::size_t kCanonicalJsonBytesMax = std::size_t{4} * 1024 * 1024;
inline constexpr std::size_t kCanonicalJsonDepthMax = 128;

// `text` without spaces, members sorted by the UTF-16 code units of their names, strings and
// numbers as ECMAScript writes them: -0 is 0, and 1.50 is 1.5.
//
// INVALID_ARGUMENT, which says what it is and at which byte it was noticed, counted from 1:
//   - what isn't JSON (RFC 8259): also a byte order mark, NaN and Infinity;
//   - what isn't I-JSON (RFC 7493, which RFC 8785 asks for): a member's name that is there twice,
//     bytes that aren't UTF-8, one half of a surrogate pair, a number that is too large for a
//     double;
//   - a whole number that its canonical form would change: 9007199254740993 is read as
//     9007199254740992 by all who read numbers as doubles, and two amounts would be one. So no
//     two whole numbers have the same form. Put such numbers into strings (RFC 7493, 2.2);
//   - what is over a bound above.
// The message has nothing of `text` in it.
//
// A fraction is rounded to the nearest double, as RFC 8785 says: two that differ only after the
// 15th digit may be one.
//
// Promise: what is returned is returned again for itself, but where it has grown over the bound.
absl::StatusOr<std::string> CanonicalJson(std::string_view text);

}  // namespace onced::client
