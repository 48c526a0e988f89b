// Files that are replaced while the server runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onced {

inline constexpr std::size_t kIdentityFileBytesMax = 1 << 20;

// What the files hold, in their order: all from one moment, as far as that can be
// seen from outside. (Kubernetes replaces a whole folder by turning one link, so that
// a reader may find the first file before it and the second after it; and somebody may be
// writing one in its place.)
absl::StatusOr<std::vector<std::string>> ReadFileSet(absl::Span<const std::string> paths);

}  // namespace onced
