#include "tests/bench/load/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace onced::bench {
namespace {

std::string Contents(int pid, const char* name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

double OwnCpuSeconds(int pid) {
  const std::string stat = Contents(pid, "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

void RunOn(std::optional<int> core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int i = 0; i < cores; ++i) {
    if (!core.has_value() || *core == i) CPU_SET(i, &set);
  }
  // Ignored: without such a core it runs where it did.
  (void)sched_setaffinity(0, sizeof set, &set);
}

struct StartingOn::Before {
  cpu_set_t set;
};

StartingOn::StartingOn(std::optional<int> core) : before_(new Before) {
  sched_getaffinity(0, sizeof before_->set, &before_->set);
  RunOn(core);
}

StartingOn::~StartingOn() {
  sched_setaffinity(0, sizeof before_->set, &before_->set);
  delete before_;
}

double ProcessCpuSeconds(int pid) {
  double seconds = OwnCpuSeconds(pid);
  std::istringstream children(Contents(pid, ("task/" + std::to_string(pid) + "/children").c_str()));
  for (int child = 0; children >> child;) seconds += OwnCpuSeconds(child);
  return seconds;
}

double ProcessPeakMemory(int pid) {
  const std::string status = Contents(pid, "status");
  const std::string name = "VmHWM:";
  const std::size_t at = status.find(name);
  if (at == std::string::npos) return 0;
  return std::strtod(status.c_str() + at + name.size(), nullptr) * 1024;  // In kB.
}

}  // namespace onced::bench
