// A child process and what it writes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace onced::integration {

// How long anything may take before a test gives up on it. Far more than it
// takes on a slow machine: it is reached only where something hangs.
inline constexpr std::chrono::seconds kPatience{60};

// What a pipe delivers, as it comes.
// Threads: reads on one of its own; the functions from any.
class Captured {
 public:
  explicit Captured(int fd);
  ~Captured();  // Waits for the writer's end.

  // What has come so far.
  std::string Text() const;
  // All of it: waits until every writer has closed its end.
  std::string AllText();
  // Waits for a whole line that contains `part`; nullopt if the end, or the end of
  // patience, comes before.
  std::optional<std::string> AwaitLine(const std::string& part) const;

 private:
  void Read();

  const int fd_;

  mutable std::mutex mutex_;
  mutable std::condition_variable more_;
  std::string text_;  // Guarded by mutex_.
  bool end_ = false;  // Guarded by mutex_.

  std::thread reader_;  // Last: uses what is above.
};

// Threads: one, which must outlive the process: the child is killed when the
//          thread that started it ends, so that none survives its test.
class Process {
 public:
  struct Command {
    std::vector<std::string> argv;
    std::vector<std::string> env;  // "NAME=value", beside the test's own.
    std::string stdin_path = "/dev/null";
    std::optional<uid_t> user;  // Run as this one; needs root.
  };

  explicit Process(const Command& command);
  ~Process();  // Kills it, if it still runs.

  void Signal(int signal) const;
  // Its exit code, or 128 and the number of the signal that ended it; throws once
  // `patience` has passed.
  int Wait(std::chrono::milliseconds patience = kPatience);

  pid_t pid() const { return pid_; }
  // The most memory that it ever had, in MiB; throws if the kernel doesn't tell.
  int PeakMemoryMib() const;
  // Of all its threads, as they are called now.
  std::vector<std::string> ThreadNames() const;
  Captured& out() { return *out_; }
  Captured& err() { return *err_; }

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  std::unique_ptr<Captured> out_;
  std::unique_ptr<Captured> err_;
};

// A process that ran to its end.
struct Finished {
  int exit_code;
  std::string out;
  std::string err;
};
Finished Run(const Process::Command& command);

// The lines of a text, without their ends.
std::vector<std::string> LinesOf(const std::string& text);

// Waits for what no event tells of: asks again and again, a little apart. Throws
// with `what` at the end of patience.
void Await(const std::string& what, const std::function<bool()>& condition);

}  // namespace onced::integration
