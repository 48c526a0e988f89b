// The bare echo and onced as peers.
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/grpc/call_driver.h"
#include "tests/bench/grpc/session_driver.h"
#include "tests/bench/load/cpu.h"
#include "tests/bench/peer.h"
#include "tests/integration/process.h"

namespace onced::bench {
namespace {

using integration::Process;

using Make = absl::StatusOr<std::unique_ptr<Driver>> (*)(const DriverOptions&);

// The servers are beside this program.
std::string Program(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

// What stands between quotes after `"name":`.
std::string TextIn(const std::string& line, const std::string& name) {
  const std::string start = "\"" + name + "\":\"";
  const std::size_t begin = line.find(start);
  if (begin == std::string::npos) return "";
  const std::size_t value = begin + start.size();
  return line.substr(value, line.find('"', value) - value);
}

class GrpcPeer final : public Peer {
 public:
  static absl::StatusOr<std::unique_ptr<Peer>> Start(Process::Command command,
                                                     const PeerOptions& options,
                                                     std::string version, Make make) {
    const StartingOn starting(options.core);
    command.argv.insert(command.argv.begin(), options.runner.begin(), options.runner.end());
    auto process = std::make_unique<Process>(command);
    const auto serving = process->err().AwaitLine("\"event\":\"serving\"");
    if (!serving.has_value()) {
      return absl::InternalError(
          absl::StrCat(command.argv[0], " did not start: ", process->err().Text()));
    }
    return std::unique_ptr<Peer>(
        new GrpcPeer(std::move(process), *serving, std::move(version), make));
  }
  ~GrpcPeer() override {
    process_->Signal(SIGTERM);
    try {
      process_->Wait(std::chrono::seconds(30));
    } catch (const std::exception&) {  // Ignored: then it is killed.
    }
  }

  std::string Version() const override { return version_; }
  std::string address() const override { return address_; }
  int pid() const override { return process_->pid(); }
  std::string http_address() const override { return http_address_; }
  absl::StatusOr<std::unique_ptr<Driver>> MakeDriver(DriverOptions options) override {
    options.address = address_;
    return make_(options);
  }

 private:
  GrpcPeer(std::unique_ptr<Process> process, const std::string& serving, std::string version,
           Make make)
      : process_(std::move(process)),
        address_(TextIn(serving, "listen")),
        http_address_(TextIn(serving, "http_listen")),
        version_(std::move(version)),
        make_(make) {}

  const std::unique_ptr<Process> process_;
  const std::string address_;
  const std::string http_address_;
  const std::string version_;
  const Make make_;
};

auto Echo(Make make) {
  return [make](const PeerOptions& options) {
    return GrpcPeer::Start({.argv = {Program("bench_echo"), "127.0.0.1:0"}}, options,
                           "gRPC " + grpc::Version(), make);
  };
}

auto Onced(Make make) {
  return [make](const PeerOptions& options) {
    Process::Command command{
        .argv = {Program("onced"), "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
                 "--admin-listen", "off", "--data-dir", options.folder + "/data"},
        .env = {"ONCED_DRAIN_WINDOW=0s"}};
    command.argv.insert(command.argv.end(), options.onced_flags.begin(), options.onced_flags.end());
    return GrpcPeer::Start(command, options, "onced " ONCED_VERSION, make);
  };
}

constexpr int kBatchMax = 1024;

}  // namespace

std::vector<PeerKind> GrpcPeers() {
  return {
      {.name = "echo",
       .what = "a gRPC server that answers and keeps nothing, one operation a call",
       .stores = false,
       .start = Echo(MakeUnaryDriver),
       .connect = MakeUnaryDriver},
      {.name = "echo-batch",
       .what = "the same, by Batch",
       .steps_max = kBatchMax,
       .stores = false,
       .start = Echo(MakeBatchDriver),
       .connect = MakeBatchDriver},
      {.name = "echo-session",
       .what = "the same, by Session, a stream a connection",
       .steps_max = kBatchMax,
       .stores = false,
       .start = Echo(MakeSessionDriver),
       .connect = MakeSessionDriver},
      {.name = "onced-unary",
       .what = "onced, fsync durability, one operation a call",
       .start = Onced(MakeUnaryDriver),
       .connect = MakeUnaryDriver},
      {.name = "onced-batch",
       .what = "the same, by Batch",
       .steps_max = kBatchMax,
       .start = Onced(MakeBatchDriver),
       .connect = MakeBatchDriver},
      {.name = "onced-session",
       .what = "the same, by Session, a stream a connection",
       .steps_max = kBatchMax,
       .start = Onced(MakeSessionDriver),
       .connect = MakeSessionDriver},
  };
}

}  // namespace onced::bench
