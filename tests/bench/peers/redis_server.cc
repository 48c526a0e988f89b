// A redis-server of our own.
#include <signal.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/peers/packaged.h"
#include "tests/bench/peers/program.h"
#ifdef ONCED_BENCH_HIREDIS
#include "tests/bench/peers/redis_driver.h"
#endif

namespace onced::bench {

#ifdef ONCED_BENCH_HIREDIS
namespace {

class RedisPeer final : public Peer {
 public:
  RedisPeer(std::unique_ptr<ServerUnderTest> server, std::string version, int port,
            const Terms& terms)
      : server_(std::move(server)), version_(std::move(version)), port_(port), terms_(terms) {}
  // What it holds goes with its folder: no need to let it write that down.
  ~RedisPeer() override { server_->Stop(SIGKILL); }

  std::string Version() const override { return version_; }
  std::string address() const override { return absl::StrCat("127.0.0.1:", port_); }
  int pid() const override { return server_->pid(); }
  absl::StatusOr<std::unique_ptr<Driver>> MakeDriver(DriverOptions options) override {
    options.address = address();
    return RedisDriver::Connect(options, terms_);
  }

 private:
  const std::unique_ptr<ServerUnderTest> server_;
  const std::string version_;
  const int port_;
  const Terms terms_;
};

// All else as it is without a configuration file.
std::vector<std::string> Arguments(const std::string& program, const std::string& folder, int port,
                                   RedisLog log) {
  std::vector<std::string> argv = {program, "--bind", "127.0.0.1", "--port", absl::StrCat(port),
                                   "--dir", folder,   "--save",    ""};
  if (log == RedisLog::kSyncedAlways) {
    argv.insert(argv.end(), {"--appendonly", "yes", "--appendfsync", "always"});
  }
  return argv;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Peer>> StartRedis(const PeerOptions& options, RedisLog log,
                                                 const Terms& terms) {
  absl::StatusOr<std::string> program = FindProgram("redis-server");
  if (!program.ok()) return program.status();
  const int port = FreePort();
  absl::StatusOr<std::unique_ptr<ServerUnderTest>> server = ServerUnderTest::Start(
      CommandOf(Arguments(*program, options.folder, port, log), std::nullopt, options.core),
      "Ready to accept connections", ServerUnderTest::SaysItOn::kOutput);
  if (!server.ok()) return server.status();
  return std::make_unique<RedisPeer>(*std::move(server), VersionOf("redis-server", *program), port,
                                     terms);
}

#else

absl::StatusOr<std::unique_ptr<Peer>> StartRedis(const PeerOptions& /*options*/, RedisLog /*log*/,
                                                 const Terms& /*terms*/) {
  return absl::FailedPreconditionError("built without libhiredis-dev");
}

#endif

}  // namespace onced::bench
