#include "tests/fault/machine/faulty_server.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "tests/integration/server_process.h"

namespace onced::fault {
namespace {

// RocksDB leaves things behind when it can't be closed: where leaks are looked for,
// the exit code would speak of them.
constexpr char kNoLeaks[] = "ASAN_OPTIONS=detect_leaks=0";

const char* Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

std::string FaultyBinary() { return ONCED_BIN_DIR "/onced_faulty"; }

std::uint64_t RunSeed() {
  if (const char* seed = Environment("ONCED_FAULT_SEED")) return std::strtoull(seed, nullptr, 10);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(now / std::chrono::milliseconds(1)) % 1'000'000;
}

int RunCycles(int preset) {
  const char* cycles = Environment("ONCED_FAULT_CYCLES");
  return cycles != nullptr ? std::atoi(cycles) : preset;
}

std::vector<std::string> SmallStore() {
  return {"--shards", "1", "--memory-budget", "64MiB", "--restart-grace", "0s"};
}

std::vector<std::string> ServerArgs(const std::string& binary, const std::string& data_dir,
                                    const std::vector<std::string>& flags) {
  std::vector<std::string> args = {binary,        "--listen",       "127.0.0.1:0", "--http-listen",
                                   "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir",
                                   data_dir,      "--drain-window", "0s"};
  args.insert(args.end(), flags.begin(), flags.end());
  return args;
}

Started::Started(const std::vector<std::string>& args)
    : process_({.argv = args, .env = {kNoLeaks}}) {
  const std::optional<std::string> line = process_.err().AwaitLine("\"event\":\"serving\"");
  if (!line.has_value()) return;
  address_ = integration::JsonText(*line, "listen");
  http_address_ = integration::JsonText(*line, "http_listen");
  admin_address_ = integration::JsonText(*line, "admin_listen");
}

std::vector<std::string> Started::Lines() { return integration::LinesOf(process_.err().AllText()); }

void CopyDirectory(const std::string& from, const std::string& to) {
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

}  // namespace onced::fault
