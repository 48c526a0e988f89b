// This test binary once more, as another process that uses a store.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace onced {

// Lifetime: the process is killed when this goes, as by kill -9.
class Child {
 public:
  // The roles are in child.cc: "hold DIR", "write DIR fsync|process", "flood DIR",
  // "open-as-nobody DIR".
  explicit Child(const std::vector<std::string>& role);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // What it printed next, without the end of the line; empty once it has ended.
  std::string ReadLine();
  // As no process can prepare for: what it printed before can still be read.
  void Kill();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// What the other process does, told by the arguments of main().
int RunRole(const std::vector<std::string>& role);

}  // namespace onced
