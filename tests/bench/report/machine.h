// What it was measured on.
#pragma once

#include <string>

namespace onced::bench {

struct Machine {
  int cores = 0;
  std::string processor;
  double memory_bytes = 0;
  std::string kernel;
  std::string file_system;  // That of `folder`: "ext4".
};

Machine LookAtMachine(const std::string& folder);

}  // namespace onced::bench
