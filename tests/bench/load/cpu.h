// Which cores, and how much of them.
#pragma once

#include <optional>

namespace onced::bench {

// The calling thread, and all that it starts from now on, run on this core only; on
// none: on all. A core that isn't there is passed over.
void RunOn(std::optional<int> core);

// Lifetime: while it lives, what this thread starts runs there; then as before.
class StartingOn {
 public:
  explicit StartingOn(std::optional<int> core);
  ~StartingOn();
  StartingOn(const StartingOn&) = delete;
  StartingOn& operator=(const StartingOn&) = delete;

 private:
  struct Before;
  Before* const before_;
};

// Of a process and its children that still run, all threads, since their start. 0 if
// there is none.
double ProcessCpuSeconds(int pid);
// The most that was ever resident, in bytes; 0 if there is none.
double ProcessPeakMemory(int pid);

}  // namespace onced::bench
