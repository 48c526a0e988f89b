#include "server/identity/file_set.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onced {
namespace {

// Somebody who replaces them faster than they can be read twice is not waited for.
constexpr int kReadsMax = 4;

absl::StatusOr<std::string> ReadOne(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  const auto failed = [&](int error) {
    return absl::UnavailableError(absl::StrCat(path, ": can't be read: ", std::strerror(error)));
  };
  if (file == nullptr) return failed(errno);
  std::string text(kIdentityFileBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failed(errno);
  if (text.size() > kIdentityFileBytesMax) {
    return absl::OutOfRangeError(
        absl::StrCat(path, ": has over ", kIdentityFileBytesMax, " bytes"));
  }
  return text;
}

absl::StatusOr<std::vector<std::string>> ReadAll(absl::Span<const std::string> paths) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    auto text = ReadOne(path);
    if (!text.ok()) return text.status();
    texts.push_back(*std::move(text));
  }
  return texts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadFileSet(absl::Span<const std::string> paths) {
  auto before = ReadAll(paths);
  for (int reads = 1; reads < kReadsMax && paths.size() > 1; ++reads) {
    auto again = ReadAll(paths);
    if (before.ok() && again.ok() && *before == *again) break;
    const bool both_failed = !before.ok() && !again.ok();
    before = std::move(again);
    if (both_failed) break;
  }
  return before;
}

}  // namespace onced
