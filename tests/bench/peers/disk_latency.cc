#include "tests/bench/peers/disk_latency.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onced::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Latencies = std::vector<std::chrono::nanoseconds>;

absl::StatusOr<Latencies> AppendAndSync(int fd, const DiskLoad& load) {
  const std::string bytes(load.append_bytes, 'x');
  Latencies latencies;
  for (int i = 0; i < load.syncs; ++i) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written != static_cast<ssize_t>(bytes.size())) {
      return absl::ErrnoToStatus(errno, "appending to a file");
    }
    const SteadyClock::time_point begin = SteadyClock::now();
    if (fdatasync(fd) != 0) return absl::ErrnoToStatus(errno, "fdatasync()");
    latencies.push_back(SteadyClock::now() - begin);
  }
  return latencies;
}

}  // namespace

absl::StatusOr<DiskLatency> MeasureDisk(const DiskLoad& load) {
  if (load.syncs <= 0) return absl::InvalidArgumentError("no syncs to measure");
  const std::string path = load.folder + "/fdatasync";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("opening ", path));
  absl::StatusOr<Latencies> latencies = AppendAndSync(fd, load);
  close(fd);
  unlink(path.c_str());
  if (!latencies.ok()) return latencies.status();
  std::sort(latencies->begin(), latencies->end());
  const std::size_t last = latencies->size() - 1;
  return DiskLatency{
      .p50 = (*latencies)[last / 2], .p99 = (*latencies)[last * 99 / 100], .syncs = load.syncs};
}

}  // namespace onced::bench
