// As much of JSON as a log line needs (RFC 8259).
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace onced {

// Appends `text` in quotes. Bytes that are not UTF-8 become U+FFFD; control
// characters (C0, DEL and C1, which terminals obey) are escaped.
void AppendJsonString(absl::string_view text, std::string& out);

// Appends the shortest number that reads back as `value`; what JSON has no
// number for becomes a string: "NaN", "Infinity", "-Infinity".
void AppendJsonNumber(double value, std::string& out);

}  // namespace onced
