// Who holds a reservation, and in which order the holders came.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "server/base/bytes.h"
#include "server/base/random.h"

namespace onced {

// Grows for a key with every grant, for ever. At least the server's time in
// microseconds since 1970, so that it also grows across a lost store.
struct Fence {
  std::int64_t value = 0;
  auto operator<=>(const Fence&) const = default;
};

// Drawn anew by every restore from a backup, never zero: a token from before
// it is told from a token that merely is not the holder's.
struct Epoch {
  std::uint32_t value = 0;
  bool operator==(const Epoch&) const = default;
};

// The proof of holding a reservation: 128 random bits, and the epoch in which
// they were drawn. A secret: it is given to the holder and to nobody else, and
// is never logged.
struct Token {
  Epoch epoch;
  std::array<std::uint8_t, 16> bits{};

  static Token Mint(Epoch epoch, Random& random);
  // The text that callers see: 8 and 32 hexadecimal digits with a dash between.
  std::string ToText() const;
  // Any text that ToText() could not have written is a token that no record
  // ever has, and so differs from every holder's: epoch zero, all bits zero.
  static Token FromText(absl::string_view text);

  // In constant time.
  friend bool operator==(const Token& a, const Token& b) {
    return SecretsEqual({reinterpret_cast<const char*>(&a), sizeof a},
                        {reinterpret_cast<const char*>(&b), sizeof b});
  }
};
static_assert(sizeof(Token) == 20, "operator== compares the bytes: there is no padding");

}  // namespace onced
