#include "server/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace onced {

absl::StatusOr<std::string> ReadRegularFile(const std::string& path, std::size_t bytes_max) {
  const auto failed = [&](int error) {
    return absl::UnavailableError(absl::StrCat(path, ": can't be read: ", std::strerror(error)));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return failed(errno);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fdopen(fd, "rb"), std::fclose);
  if (file == nullptr) {
    const int error = errno;
    close(fd);
    return failed(error);
  }
  struct stat about {};
  if (fstat(fd, &about) != 0) return failed(errno);
  if (!S_ISREG(about.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is not a regular file"));
  }
  std::string text(bytes_max + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failed(errno);
  if (text.size() > bytes_max) {
    return absl::OutOfRangeError(absl::StrCat(path, ": has over ", bytes_max, " bytes"));
  }
  return text;
}

}  // namespace onced
