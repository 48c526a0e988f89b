#include "tests/bench/peers/program.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <regex>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onced::bench {
namespace {

constexpr std::chrono::seconds kPatience{10};

std::vector<std::string> SearchPath() {
  const char* path = std::getenv("PATH");
  std::istringstream parts(path == nullptr ? "" : path);
  std::vector<std::string> folders;
  for (std::string folder; std::getline(parts, folder, ':');) folders.push_back(folder);
  // Where Debian puts daemons; not in everybody's PATH.
  folders.insert(folders.end(), {"/usr/bin", "/usr/sbin", "/bin", "/sbin"});
  return folders;
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& name,
                                        const std::vector<std::string>& more) {
  std::vector<std::string> folders = more;
  for (std::string& folder : SearchPath()) folders.push_back(std::move(folder));
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return absl::FailedPreconditionError(absl::StrCat(name, " is not installed"));
}

std::string VersionOf(const std::string& name, const std::string& program) {
  static const std::regex kNumber("[0-9]+(\\.[0-9]+)+");
  const std::string said = integration::Run({.argv = {program, "--version"}}).out;
  std::smatch match;
  return name + " " + (std::regex_search(said, match, kNumber) ? match.str() : "of no version");
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

std::optional<User> UnprivilegedUser() {
  if (geteuid() != 0) return std::nullopt;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* found = getpwnam(name)) return User{found->pw_uid, found->pw_gid};
  }
  return User{65534, 65534};
}

std::vector<std::string> CommandOf(std::vector<std::string> argv, std::optional<User> user,
                                   std::optional<int> core) {
  std::vector<std::string> command;
  if (user.has_value()) {
    command = {FindProgram("setpriv").value_or("setpriv"), absl::StrCat("--reuid=", user->uid),
               absl::StrCat("--regid=", user->gid), "--clear-groups", "--pdeathsig=QUIT"};
  }
  if (core.has_value()) {
    const std::string taskset = FindProgram("taskset").value_or("taskset");
    command.insert(command.end(), {taskset, "--cpu-list", absl::StrCat(*core)});
  }
  command.insert(command.end(), argv.begin(), argv.end());
  return command;
}

absl::StatusOr<std::unique_ptr<ServerUnderTest>> ServerUnderTest::Start(
    const std::vector<std::string>& argv, const std::string& ready, SaysItOn where) {
  auto server = std::unique_ptr<ServerUnderTest>(new ServerUnderTest(argv));
  integration::Process& process = server->process_;
  const integration::Captured& said = where == SaysItOn::kOutput ? process.out() : process.err();
  if (said.AwaitLine(ready).has_value()) return server;
  return absl::InternalError(absl::StrCat(argv.front(), " did not start; it wrote:\n",
                                          process.out().Text(), process.err().Text()));
}

void ServerUnderTest::Stop(int signal) {
  process_.Signal(signal);
  try {
    process_.Wait(kPatience);
  } catch (const std::exception&) {
    // Ignored: the process's destructor kills it.
  }
}

}  // namespace onced::bench
