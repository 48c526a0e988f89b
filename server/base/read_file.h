// A whole file of which the size is bounded.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace onced {

// Reads a regular file, or what a link to one leads to: anything else might block for
// ever. An error's message is one line that begins with the path, and has nothing of what is
// in it: UNAVAILABLE if it can't be read, FAILED_PRECONDITION if it isn't a regular one,
// OUT_OF_RANGE if it has over `bytes_max`.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path, std::size_t bytes_max);

}  // namespace onced
