#include "client/cli/output.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"
#include "client/cli/text.h"

namespace onced::cli {
namespace {

absl::Status WriteError(absl::string_view name) {
  const std::string cause = errno == 0 ? "" : ": " + std::generic_category().message(errno);
  return OutputError(absl::StrCat("can't write to ", name, cause));
}

}  // namespace

absl::Status Write(std::ostream& stream, absl::string_view bytes, absl::string_view name) {
  errno = 0;
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.flush();
  return stream ? absl::OkStatus() : WriteError(name);
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return WriteError(Printable(path));
  if (absl::Status written = Write(file, bytes, Printable(path)); !written.ok()) return written;
  file.close();
  return file ? absl::OkStatus() : WriteError(Printable(path));
}

}  // namespace onced::cli
