// What names are made of: namespaces, identities, hosts.
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace onced {

// Of [A-Za-z0-9._-].
inline bool IsNameByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}
inline bool AreNameBytes(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), IsNameByte);
}
// 1 to `bytes_max` of them, of which the first is a letter or a digit.
inline bool IsName(absl::string_view text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max && AreNameBytes(text) &&
         absl::ascii_isalnum(static_cast<unsigned char>(text[0]));
}

}  // namespace onced
