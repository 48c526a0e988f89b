#include "tests/bench/report/machine.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onced::bench {
namespace {

std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

// The mount whose device the folder is on.
std::string FileSystem(const std::string& folder) {
  struct stat found {};
  if (stat(folder.c_str(), &found) != 0) return "unknown file system";
  const std::string device = absl::StrCat(major(found.st_dev), ":", minor(found.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id;
    std::string parent;
    std::string mounted;
    fields >> id >> parent >> mounted;
    const std::size_t type = line.find(" - ");
    if (mounted != device || type == std::string::npos) continue;
    return line.substr(type + 3, line.find(' ', type + 3) - type - 3);
  }
  return "unknown file system";
}

}  // namespace

Machine LookAtMachine(const std::string& folder) {
  utsname name{};
  uname(&name);
  return {.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
          .processor = Processor(),
          .memory_bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<double>(sysconf(_SC_PAGESIZE)),
          .kernel = absl::StrCat(name.sysname, " ", name.release),
          .file_system = FileSystem(folder)};
}

}  // namespace onced::bench
