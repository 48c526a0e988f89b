// What oncectl writes. A write that failed is an error, never silence: a lost
// token is a key held for nobody.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onced::cli {

// Writes and flushes. `name` is for the error.
absl::Status Write(std::ostream& stream, absl::string_view bytes, absl::string_view name);
// Replaces the file's contents. After an error, there may be a part of them.
absl::Status WriteFile(const std::string& path, absl::string_view bytes);

}  // namespace onced::cli
