// Programs that the system has installed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/integration/process.h"

namespace onced::bench {

// FAILED_PRECONDITION if it is neither in the PATH nor in one of `more`.
absl::StatusOr<std::string> FindProgram(const std::string& name,
                                        const std::vector<std::string>& more = {});

// "redis-server 7.0.15": `name`, and the first number with a dot in what the program
// says to --version.
std::string VersionOf(const std::string& name, const std::string& program);

// A port of 127.0.0.1 that nobody listened on a moment ago.
int FreePort();

struct User {
  unsigned uid = 0;
  unsigned gid = 0;
};
// Who may run what refuses to be run by root: postgres, else nobody. nullopt if we
// aren't root ourselves.
std::optional<User> UnprivilegedUser();

// `argv` by `user` (nullopt: by us) on `core` (nullopt: on any). If we die, it gets
// SIGQUIT: the signal that we set for our children is lost when they change the user.
std::vector<std::string> CommandOf(std::vector<std::string> argv, std::optional<User> user,
                                   std::optional<int> core);

// Threads: as integration::Process: the one that starts it outlives it.
class ServerUnderTest {
 public:
  enum class SaysItOn { kOutput, kErrors };
  // Returns when a line that contains `ready` has come, or with what came instead.
  static absl::StatusOr<std::unique_ptr<ServerUnderTest>> Start(
      const std::vector<std::string>& argv, const std::string& ready, SaysItOn where);
  // Asks it to end by `signal`; kills it if it doesn't.
  void Stop(int signal);
  int pid() const { return process_.pid(); }

 private:
  explicit ServerUnderTest(const std::vector<std::string>& argv) : process_({.argv = argv}) {}

  integration::Process process_;
};

}  // namespace onced::bench
