// The id that a provider gives to an event, and repeats with each delivery of it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace webhook {

// From a header's value, which is one of
//   evt_1      visible ASCII but for `"` and `,`
//   "evt_1"    a string of RFC 8941, as the IETF's draft on Idempotency-Key has it: the same id
// INVALID_ARGUMENT: it is malformed, or doesn't have 1 to 200 bytes.
absl::StatusOr<std::string> ReadEventId(std::string_view value);

}  // namespace webhook
