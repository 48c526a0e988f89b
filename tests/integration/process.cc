#include "tests/integration/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace onced::integration {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2() failed");
    read = ends[0];
    write = ends[1];
  }
  int read;
  int write;
};

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

// In the child, where only what is safe in a signal handler may be called: the
// parent has threads.
[[noreturn]] void Become(const Process::Command& command, int out, int err, char* const* argv,
                         char* const* env) {
  const int in = open(command.stdin_path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool wired = in >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2;
  const bool is_user =
      !command.user.has_value() || (setgid(*command.user) == 0 && setuid(*command.user) == 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // After the user: a change of that clears it.
  if (wired && is_user) execve(argv[0], argv, env);
  _exit(127);
}

bool EndsWithin(pid_t pid, std::chrono::milliseconds patience) {
  // Not by its name: the header of Debian 12 can't be used from C++.
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) throw std::runtime_error("pidfd_open() failed");
  pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&waited, 1, static_cast<int>(patience.count()));
  } while (ready < 0 && errno == EINTR);
  close(fd);
  return ready == 1;
}

}  // namespace

Captured::Captured(int fd) : fd_(fd), reader_([this] { Read(); }) {}

Captured::~Captured() {
  reader_.join();
  close(fd_);
}

void Captured::Read() {
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t count = read(fd_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    const std::lock_guard lock(mutex_);
    if (count > 0) text_.append(buffer.data(), static_cast<std::size_t>(count));
    end_ = count <= 0;
    more_.notify_all();
    if (end_) return;
  }
}

std::string Captured::Text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

std::string Captured::AllText() {
  std::unique_lock lock(mutex_);
  more_.wait(lock, [this] { return end_; });
  return text_;
}

std::optional<std::string> Captured::AwaitLine(const std::string& part) const {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  std::unique_lock lock(mutex_);
  while (true) {
    for (std::size_t begin = 0, end = 0; (end = text_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const std::string line = text_.substr(begin, end - begin);
      if (line.find(part) != std::string::npos) return line;
    }
    if (end_ || more_.wait_until(lock, give_up) == std::cv_status::timeout) return std::nullopt;
  }
}

Process::Process(const Command& command) {
  Pipe out;
  Pipe err;
  std::vector<std::string> args = command.argv;
  std::vector<std::string> env = Environment(command.env);
  const std::vector<char*> argv = Pointers(args);
  const std::vector<char*> envp = Pointers(env);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork() failed");
  if (pid_ == 0) Become(command, out.write, err.write, argv.data(), envp.data());
  close(out.write);
  close(err.write);
  out_ = std::make_unique<Captured>(out.read);
  err_ = std::make_unique<Captured>(err.read);
}

Process::~Process() {
  if (exit_code_.has_value()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

int Process::PeakMemoryMib() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoi(line.substr(6)) / 1024;  // Of KiB.
  }
  throw std::runtime_error("no memory of process " + std::to_string(pid_));
}

std::vector<std::string> Process::ThreadNames() const {
  std::vector<std::string> names;
  const auto tasks = std::filesystem::path("/proc") / std::to_string(pid_) / "task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    names.push_back(name);
  }
  return names;
}

void Process::Signal(int signal) const {
  if (!exit_code_.has_value()) kill(pid_, signal);
}

int Process::Wait(std::chrono::milliseconds patience) {
  if (exit_code_.has_value()) return *exit_code_;
  if (!EndsWithin(pid_, patience)) {
    throw std::runtime_error("the process still runs; it wrote:\n" + err_->Text());
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return *exit_code_;
}

Finished Run(const Process::Command& command) {
  Process process(command);
  const int exit_code = process.Wait();
  return {exit_code, process.out().AllText(), process.err().AllText()};
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void Await(const std::string& what, const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("never: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace onced::integration
