#include "tests/conformance/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/mutex.h"
#include "server/base/random.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "tests/conformance/store_calls.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

constexpr uid_t kNobody = 65534;

absl::StatusOr<std::unique_ptr<RocksStore>> OpenStore(const std::string& directory,
                                                      RocksStore::Durability durability) {
  SystemRandom random;
  return RocksStore::Open({.data_dir = directory,
                           .shards = 2,
                           .durability = durability,
                           .wall_now = TestStart(),
                           .random = random});
}

void Say(const std::string& line) {
  printf("%s\n", line.c_str());
  fflush(stdout);
}

// Keeps the store open until it is killed.
int Hold(const std::string& directory) {
  const auto store = OpenStore(directory, RocksStore::Durability::kFsync);
  Say(store.ok() ? "open" : store.status().ToString());
  for (;;) pause();
}

// Writes key after key, and says which are durable, until it is killed.
int Write(const std::string& directory, const std::string& durability) {
  const auto store = OpenStore(directory, durability == "fsync" ? RocksStore::Durability::kFsync
                                                                : RocksStore::Durability::kProcess);
  if (!store.ok()) return 1;
  for (std::uint32_t i = 0;; ++i) {
    const Place place{{i % 2}, {"ns", absl::StrCat("key", i)}};
    if (!PutRecord(**store, place, MinimalCommitted(absl::StrCat("body", i))).ok()) return 1;
    Say(absl::StrCat(i));
  }
}

// Pairs of keys on two shards, with always some units in flight, and says which are
// durable, until it is killed.
int Flood(const std::string& directory) {
  constexpr int kInFlight = 50;
  const auto store = OpenStore(directory, RocksStore::Durability::kFsync);
  if (!store.ok()) return 1;
  Mutex mutex;
  CondVar changed;
  int in_flight = 0;
  for (int i = 0;; ++i) {
    {
      const MutexLock lock(mutex);
      while (in_flight == kInFlight) changed.Wait(mutex);
      ++in_flight;
    }
    const RecordKey key{"ns", absl::StrCat(i)}, twin{"ns", absl::StrCat("twin", i)};
    StartUnit(
        **store, {{{0}, key}, {{1}, twin}},
        [i](UnitOfWork& work) {
          for (std::size_t slot : {0, 1}) work.Put({slot}, MinimalCommitted(absl::StrCat(i)));
        },
        [&, i](const absl::Status& status) {
          if (status.ok()) Say(absl::StrCat(i));
          const MutexLock lock(mutex);
          --in_flight;
          changed.NotifyOne();
        });
  }
}

int OpenAsNobody(const std::string& directory) {
  if (setgid(kNobody) != 0 || setuid(kNobody) != 0) return 1;
  Say(std::string(OpenStore(directory, RocksStore::Durability::kFsync).status().ToString()));
  return 0;
}

}  // namespace

int RunRole(const std::vector<std::string>& role) {
  if (role.size() == 2 && role[0] == "hold") return Hold(role[1]);
  if (role.size() == 3 && role[0] == "write") return Write(role[1], role[2]);
  if (role.size() == 2 && role[0] == "flood") return Flood(role[1]);
  if (role.size() == 2 && role[0] == "open-as-nobody") return OpenAsNobody(role[1]);
  return 2;
}

Child::Child(const std::vector<std::string>& role) {
  std::vector<std::string> words = {"/proc/self/exe", "--role"};
  words.insert(words.end(), role.begin(), role.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int pipe_ends[2];
  ONCED_CHECK(pipe2(pipe_ends, O_CLOEXEC) == 0);
  pid_ = fork();
  ONCED_CHECK(pid_ >= 0);
  if (pid_ == 0) {  // Nothing but system calls here: the parent may have threads.
    dup2(pipe_ends[1], STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  output_ = pipe_ends[0];
}

Child::~Child() {
  Kill();
  close(output_);
}

std::string Child::ReadLine() {
  std::string line;
  char byte = 0;
  while (read(output_, &byte, 1) == 1 && byte != '\n') line.push_back(byte);
  return line;
}

void Child::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace onced
