// Text for those who take nothing but UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace onced::client {

// `text`, with U+FFFD for each byte that is no part of a character, and cut after the character
// in which it gets to `bytes`.
std::string ToUtf8(std::string_view text, std::size_t bytes);

}  // namespace onced::client
