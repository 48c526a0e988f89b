#include "tests/bench/load/folder_guard.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace onced::bench {
namespace {

// Again and again, since the servers in it may still be at their end.
constexpr char kScript[] =
    "trap '' HUP INT TERM; cat >/dev/null; "
    "for i in 1 2 3 4 5 6 7 8 9; do rm -rf -- \"$0\" && exit; sleep 1; done";

// -1 if it can't be.
pid_t Spawn(const std::string& folder, int in) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in, 0);
  // Whoever reads what we say isn't to wait for it.
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A session of its own: what ends our group doesn't end it.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string script = kScript;
  std::string name = folder;
  char shell[] = "/bin/sh";
  char option[] = "-c";
  char* const argv[] = {shell, option, script.data(), name.data(), nullptr};
  pid_t pid = -1;
  if (posix_spawn(&pid, shell, &files, &attributes, argv, environ) != 0) pid = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return pid;
}

}  // namespace

FolderGuard::FolderGuard(std::string folder) : folder_(std::move(folder)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  held_ = ends[1];
  pid_ = Spawn(folder_, ends[0]);
  close(ends[0]);
}

FolderGuard::~FolderGuard() {
  std::error_code ignored;  // Ignored: the guard tries once more.
  std::filesystem::remove_all(folder_, ignored);
  if (held_ >= 0) close(held_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

}  // namespace onced::bench
