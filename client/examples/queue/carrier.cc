#include "carrier.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace {

// Closes it, and gives up the lock, also if the process is killed.
struct Locked {
  int file;
  ~Locked() { close(file); }
};

// Whether the line was written, whole.
bool Append(int file, const std::string& line) {
  return write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

std::string ReadAll(int file) {
  std::string text;
  char buffer[65536];
  for (ssize_t n = 0;
       (n = pread(file, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

absl::Status Carrier::Order(const std::string& job_id, int step, std::int64_t fence,
                            Unless unless) {
  {
    const Locked locked{open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
    if (locked.file < 0 || flock(locked.file, LOCK_EX) != 0) {
      return absl::UnavailableError(absl::StrCat(file_, ": can't be had"));
    }
    std::istringstream orders(ReadAll(locked.file));
    std::string other;
    int other_step = 0;
    std::int64_t other_fence = 0;
    while (orders >> other >> other_step >> other_fence) {
      if (other != job_id) continue;
      if (other_fence > fence) return absl::AbortedError("another has taken over");
      if (unless == Unless::kDone && other_step == step) return absl::OkStatus();
    }
    if (!Append(locked.file, absl::StrCat(job_id, " ", step, " ", fence, "\n"))) {
      return absl::UnavailableError(absl::StrCat(file_, ": can't be written"));
    }
  }
  absl::SleepFor(delay_);
  return absl::OkStatus();
}
