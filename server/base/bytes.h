// Small things done to byte strings: digests, and comparing secrets.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace onced {

// SHA-256 of `bytes` (FIPS 180-4): 32 raw bytes.
std::string Sha256(absl::string_view bytes);

// Whether two secrets are equal, in a time that depends on their lengths alone.
bool SecretsEqual(absl::string_view a, absl::string_view b);

// Lower-case hexadecimal.
std::string ToHex(absl::string_view bytes);

}  // namespace onced
