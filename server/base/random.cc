#include "server/base/random.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "server/base/check.h"

namespace onced {
namespace {

void FillFromKernel(std::uint8_t* out, std::size_t size) {
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got = getrandom(out + filled, size - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    ONCED_CHECK(got > 0);  // The call is in every kernel since 3.17.
    filled += static_cast<std::size_t>(got);
  }
}

}  // namespace

void SystemRandom::Fill(void* out, std::size_t size) {
  auto* to = static_cast<std::uint8_t*>(out);
  while (size > 0) {
    if (used_ == buffer_.size()) {
      FillFromKernel(buffer_.data(), buffer_.size());
      used_ = 0;
    }
    const std::size_t n = std::min(size, buffer_.size() - used_);
    std::memcpy(to, buffer_.data() + used_, n);
    std::memset(buffer_.data() + used_, 0, n);  // What became a token stays nowhere else.
    used_ += n;
    to += n;
    size -= n;
  }
}

}  // namespace onced
