#include "server/observe/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onced {
namespace {

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
}

// The number after `name` in /proc/self/status; 0 if it isn't told.
double StatusOf(absl::string_view name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, name)) continue;
    const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(
        absl::StripLeadingAsciiWhitespace(rest), absl::MaxSplits(absl::ByAnyChar(" \t"), 1));
    double number = 0;
    return absl::SimpleAtod(words.first, &number) ? number : 0;
  }
  return 0;
}
double StatusBytesOf(absl::string_view name) { return StatusOf(name) * 1024; }

double MaxFds() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

double OpenFds() {
  std::error_code error;
  std::filesystem::directory_iterator each("/proc/self/fd", error);
  // With none left there is none to count them by.
  if (error == std::errc::too_many_files_open) return MaxFds();
  double count = -1;  // Not the one it reads by.
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) ++count;
  return error ? 0 : count;
}

}  // namespace

void AddProcessMetrics(PrometheusTelemetry& telemetry) {
  telemetry.AddCounter(kProcessCpuCounter, {}, CpuSeconds);
  telemetry.AddGauge(kProcessResidentGauge, {}, [] { return StatusBytesOf("VmRSS:"); });
  telemetry.AddGauge(kProcessVirtualGauge, {}, [] { return StatusBytesOf("VmSize:"); });
  telemetry.AddGauge(kProcessThreadsGauge, {}, [] { return StatusOf("Threads:"); });
  telemetry.AddGauge(kProcessFdsGauge, {}, OpenFds);
  telemetry.AddGauge(kProcessFdsMaxGauge, {}, MaxFds);
}

}  // namespace onced
