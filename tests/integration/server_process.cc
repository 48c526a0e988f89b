#include "tests/integration/server_process.h"

#include <signal.h>
#include <stdlib.h>

#include <stdexcept>
#include <utility>

namespace onced::integration {

std::string ServerBinary() { return ONCED_BIN_DIR "/onced"; }
std::string ClientBinary() { return ONCED_BIN_DIR "/oncectl"; }

std::string JsonText(const std::string& line, const std::string& name) {
  const std::string start = "\"" + name + "\":\"";
  const std::size_t begin = line.find(start);
  if (begin == std::string::npos) throw std::runtime_error("no " + name + " in: " + line);
  const std::size_t value = begin + start.size();
  return line.substr(value, line.find('"', value) - value);
}

ServerProcess::ServerProcess(Options options) : options_(std::move(options)) { Start(); }

Process::Command ServerProcess::Command() const {
  Process::Command command{.argv = {options_.binary.empty() ? ServerBinary() : options_.binary,
                                    "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
                                    "--admin-listen", "127.0.0.1:0", "--data-dir", data_dir()},
                           .env = {"ONCED_DRAIN_WINDOW=0s"}};
  command.env.insert(command.env.end(), options_.env.begin(), options_.env.end());
  if (!options_.config.empty()) {
    command.argv.insert(command.argv.end(),
                        {"--config", dir_.Write("onced.yaml", options_.config)});
  }
  command.argv.insert(command.argv.end(), options_.flags.begin(), options_.flags.end());
  return command;
}

void ServerProcess::Start() {
  if (process_ != nullptr) earlier_log_ += process_->err().AllText();
  process_ = std::make_unique<Process>(Command());
  const std::optional<std::string> serving = process_->err().AwaitLine("\"event\":\"serving\"");
  if (!serving.has_value()) {
    throw std::runtime_error("the server did not start; it wrote:\n" + process_->err().Text());
  }
  address_ = JsonText(*serving, "listen");
  http_address_ = JsonText(*serving, "http_listen");
  admin_address_ = JsonText(*serving, "admin_listen");
}

int ServerProcess::Stop() {
  process_->Signal(SIGTERM);
  return process_->Wait();
}

void ServerProcess::Kill9() {
  process_->Signal(SIGKILL);
  process_->Wait();
}

void ServerProcess::Restart() {
  if (const int code = Stop(); code != 0) {
    throw std::runtime_error("the server ended with " + std::to_string(code) + ":\n" + Log());
  }
  Start();
}

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) {
  // A channel without calls looks at its socket only that often, and not before
  // does it let go of a server that says goodbye. Read when gRPC is first used.
  static const int ignored = setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "100", 1);
  (void)ignored;
  grpc::ChannelArguments arguments;
  // Else channels to one address share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A proxy for the web that the environment names is not meant for this.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

Metrics ServerProcess::GetMetrics() const { return ParseMetrics(Get("/metrics").body); }

void ServerProcess::AwaitWaiters(int count) const {
  Await(std::to_string(count) + " parked calls",
        [&] { return GetMetrics()["idempotency_waiters"] == count; });
}

std::string ServerProcess::Log() const { return earlier_log_ + process_->err().Text(); }

}  // namespace onced::integration
