#include "server/identity/file_set.h"

#include <utility>

#include "server/base/read_file.h"

namespace onced {
namespace {

// Somebody who replaces them faster than they can be read twice is not waited for.
constexpr int kReadsMax = 4;

absl::StatusOr<std::vector<std::string>> ReadAll(absl::Span<const std::string> paths) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    auto text = ReadRegularFile(path, kIdentityFileBytesMax);
    if (!text.ok()) return text.status();
    texts.push_back(*std::move(text));
  }
  return texts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadFileSet(absl::Span<const std::string> paths) {
  auto before = ReadAll(paths);
  for (int reads = 1; reads < kReadsMax; ++reads) {
    auto again = ReadAll(paths);
    if (before.ok() && again.ok() && *before == *again) break;
    const bool both_failed = !before.ok() && !again.ok();
    before = std::move(again);
    if (both_failed) break;
  }
  return before;
}

}  // namespace onced
