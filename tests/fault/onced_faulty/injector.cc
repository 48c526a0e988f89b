#include "tests/fault/onced_faulty/injector.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/check.h"

namespace onced::fault {
namespace {

int OpenTrace(const std::string& path) {
  if (path.empty()) return -1;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ONCED_CHECK(fd >= 0);
  return fd;
}

}  // namespace

std::string ClassOf(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  if (absl::EndsWith(name, ".log")) return "wal";
  if (absl::EndsWith(name, ".sst")) return "sst";
  if (absl::StartsWith(name, "MANIFEST-")) return "manifest";
  if (absl::StartsWith(name, "OPTIONS-")) return "options";
  if (absl::EndsWith(name, ".dbtmp")) return "temp";
  if (name == "CURRENT") return "current";
  if (name == "WATERMARK") return "watermark";
  if (name == "IDENTITY") return "identity";
  if (name == "LOCK") return "lock";
  return "dir";
}

std::optional<Injector::Failure> Injector::Parse(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ':');
  if (words.size() != 4 || (words[2] != "EIO" && words[2] != "ENOSPC")) return std::nullopt;
  Failure failure{words[0], words[1], words[2] == "ENOSPC"};
  absl::string_view number = words[3];
  failure.all_later = absl::ConsumeSuffix(&number, "+");
  if (!absl::SimpleAtoi(number, &failure.first)) return std::nullopt;
  return failure;
}

Injector::Injector(Options options)
    : options_(std::move(options)), trace_(OpenTrace(options_.trace)) {}

Injector::~Injector() {
  if (trace_ >= 0) close(trace_);
}

rocksdb::IOStatus Injector::Ask(const std::string& operation, const std::string& path) {
  const std::string file_class = ClassOf(path);
  const std::string both = absl::StrCat(operation, " ", file_class, "\n");
  if (trace_ >= 0) ONCED_CHECK(write(trace_, both.data(), both.size()) > 0);
  const std::optional<Failure>& failure = options_.failure;
  const bool matches =
      failure.has_value() && failure->operation == operation && failure->file_class == file_class;
  const bool armed = options_.armed_by.empty() || access(options_.armed_by.c_str(), F_OK) == 0;
  if (!armed) return rocksdb::IOStatus::OK();
  MutexLock lock(mutex_);
  if (++asked_ == options_.die_at) kill(getpid(), SIGKILL);
  if (!matches) return rocksdb::IOStatus::OK();
  ++matched_;
  const bool fails =
      matched_ == failure->first || (failure->all_later && matched_ > failure->first);
  if (!fails) return rocksdb::IOStatus::OK();
  if (matched_ == failure->first) {
    std::printf("injected: %s %s\n", operation.c_str(), path.c_str());
    std::fflush(stdout);
  }
  const std::string what = absl::StrCat("injected: ", operation);
  return failure->no_space ? rocksdb::IOStatus::NoSpace(what, path)
                           : rocksdb::IOStatus::IOError(what, path);
}

}  // namespace onced::fault
