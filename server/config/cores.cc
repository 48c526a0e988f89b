#include "server/config/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onced {
namespace {

constexpr absl::string_view kCgroupRoot = "/sys/fs/cgroup";

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::uint32_t CoresOfMask() {
  cpu_set_t mask;
  // Fails on machines of over 1,024 cores, where the mask doesn't fit.
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    return static_cast<std::uint32_t>(CPU_COUNT(&mask));
  }
  return std::thread::hardware_concurrency();
}

// This process's cgroup (v2), such as "/user.slice"; empty if it can't be told.
std::string OwnCgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    absl::string_view path = line;
    if (absl::ConsumePrefix(&path, "0::")) return std::string(absl::StripSuffix(path, "/"));
  }
  return "";
}

}  // namespace

std::uint32_t CoresOfCpuMax(absl::string_view cpu_max) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripAsciiWhitespace(cpu_max), ' ');
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &quota) ||
      !absl::SimpleAtoi(parts[1], &period) || quota == 0 || period == 0) {
    return 0;
  }
  const std::uint64_t cores = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(cores, UINT32_MAX));
}

std::uint32_t AvailableCores() {
  std::uint32_t cores = std::max(CoresOfMask(), 1u);
  // A limit of any cgroup above holds too. The root has no cpu.max, but in a
  // container, whose own cgroup looks like the root, it does.
  std::string group = OwnCgroup();
  while (true) {
    const std::uint32_t granted =
        CoresOfCpuMax(FirstLine(absl::StrCat(kCgroupRoot, group, "/cpu.max")));
    if (granted != 0) cores = std::min(cores, granted);
    if (group.empty()) return cores;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

std::uint32_t ExecutorCount(std::uint32_t executors, std::uint32_t cores, std::uint32_t shards) {
  return std::max(1u, std::min(executors == 0 ? cores : executors, shards));
}

}  // namespace onced
