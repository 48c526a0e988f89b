// onced on a machine, or with a store, that fails: the same server otherwise.
//
//   --plant NAME               the store breaks a promise (lying_disk.h)
//   --lose-unsynced FOLDER     what was not synced is lost by kill -9, at the next
//                              start; FOLDER notes it, beside the data directory
//   --inject OP:CLASS:EIO:N    the Nth operation of that name on a file of that class
//                              fails (failing_files.h, injector.h); also ENOSPC
//   --die-at N                 the process is killed in place of the Nth operation
//   --armed-by FILE            both only while there is this file
//   --trace FILE               all operations on files are added to it
//   --clock-file FILE          seconds by which the wall clock is ahead
//   --seed N                   of all that is random here
//
// These may stand anywhere among the server's own flags, each with its value in
// the next argument. What was lost is told on the standard output.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "server/serve.h"
#include "tests/fault/onced_faulty/clock_file.h"
#include "tests/fault/onced_faulty/failing_files.h"
#include "tests/fault/onced_faulty/injector.h"
#include "tests/fault/onced_faulty/lying_disk.h"
#include "tests/fault/onced_faulty/power_journal.h"
#include "tests/fault/onced_faulty/powerless_files.h"

namespace onced::fault {
namespace {

struct Flags {
  std::map<std::string, std::string> own = {
      {"--plant", ""},    {"--lose-unsynced", ""}, {"--clock-file", ""}, {"--inject", ""},
      {"--armed-by", ""}, {"--trace", ""},         {"--die-at", "0"},    {"--seed", "1"}};
  std::vector<std::string> of_server;
  std::string data_dir;
};

Flags Split(const std::vector<std::string>& args) {
  Flags flags;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool has_value = i + 1 < args.size();
    if (args[i] == "--data-dir" && has_value) flags.data_dir = args[i + 1];
    const auto own = flags.own.find(args[i]);
    if (own == flags.own.end() || !has_value) {
      flags.of_server.push_back(args[i]);
    } else {
      own->second = args[++i];
    }
  }
  return flags;
}

int Refuse(const std::string& why) {
  std::fprintf(stderr, "onced_faulty: %s\n", why.c_str());
  return 2;
}

int Main(const std::vector<std::string>& args) {
  const Flags flags = Split(args);
  std::uint64_t seed = 0;
  if (!absl::SimpleAtoi(flags.own.at("--seed"), &seed)) return Refuse("--seed is no number");
  Machine machine;

  std::shared_ptr<rocksdb::FileSystem> files = rocksdb::FileSystem::Default();
  std::unique_ptr<PowerJournal> journal;
  if (const std::string& folder = flags.own.at("--lose-unsynced"); !folder.empty()) {
    if (flags.data_dir.empty()) return Refuse("--lose-unsynced needs --data-dir");
    const std::string lost = LosePower(flags.data_dir, folder, seed);
    if (!lost.empty()) std::printf("survived: %s\n", lost.c_str());
    std::fflush(stdout);
    journal = std::make_unique<PowerJournal>(flags.data_dir, folder);
    files = std::make_shared<PowerlessFiles>(files, *journal);
  }
  std::optional<Injector::Failure> failure;
  if (const std::string& text = flags.own.at("--inject"); !text.empty()) {
    failure = Injector::Parse(text);
    if (!failure.has_value()) return Refuse("--inject is OP:CLASS:EIO:N or OP:CLASS:ENOSPC:N+");
  }
  std::uint64_t die_at = 0;
  if (!absl::SimpleAtoi(flags.own.at("--die-at"), &die_at)) return Refuse("--die-at is no number");
  Injector injector({failure, die_at, flags.own.at("--armed-by"), flags.own.at("--trace")});
  files = std::make_shared<FailingFiles>(files, injector);
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  machine.env = env.get();

  const std::optional<Plant> plant = PlantNamed(flags.own.at("--plant"));
  if (plant.has_value()) {
    machine.wrap_store = [&](Store& disk) {
      return std::make_unique<LyingDisk>(disk, *plant, seed);
    };
  } else if (!flags.own.at("--plant").empty()) {
    return Refuse("--plant is one of " + PlantNames());
  }

  std::optional<ClockFile> clock;
  if (const std::string& file = flags.own.at("--clock-file"); !file.empty()) {
    machine.time_source = &clock.emplace(file);
  }
  return onced::Main(flags.of_server, machine);
}

}  // namespace
}  // namespace onced::fault

int main(int argc, char** argv) { return onced::fault::Main({argv + 1, argv + argc}); }
