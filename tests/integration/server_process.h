// The real server, as a process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/http.h"
#include "tests/integration/process.h"
#include "tests/integration/temp_dir.h"

namespace onced::integration {

// Where the build has put the programs.
std::string ServerBinary();
std::string ClientBinary();

// A connection of its own to a server at "HOST:PORT".
std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address);

// Operation: runs the server on free ports and in a folder of its own; ready
//            when the constructor returns, or it throws what the server said.
// Threads:   the functions that start and stop, on one; the others on any.
// Promise:   nothing of it is left once it is destroyed.
class ServerProcess {
 public:
  struct Options {
    std::vector<std::string> flags;  // Beside those that this class gives.
    std::string config;              // YAML. Empty: no file.
    std::vector<std::string> env;
    std::string data_dir;  // Empty: one of its own.
    std::string binary;    // Empty: the server as it is shipped.
  };

  ServerProcess() : ServerProcess(Options{}) {}
  explicit ServerProcess(Options options);

  // SIGTERM, then its exit code.
  int Stop();
  void Kill9();
  // Starts again on the same data: on other ports, perhaps with other flags.
  void Start();
  void Restart();
  Options& options() { return options_; }

  // The command that it is started with.
  Process::Command Command() const;
  Process& process() { return *process_; }
  const Process& process() const { return *process_; }
  std::string data_dir() const {
    return options_.data_dir.empty() ? dir_.Path("data") : options_.data_dir;
  }
  const std::string& address() const { return address_; }
  const std::string& http_address() const { return http_address_; }
  const std::string& admin_address() const { return admin_address_; }

  // Each call makes a connection of its own.
  std::shared_ptr<grpc::Channel> Connect() const { return ConnectTo(address_); }
  std::shared_ptr<grpc::Channel> ConnectToAdmin() const { return ConnectTo(admin_address_); }
  HttpReply Get(const std::string& path) const { return HttpGet(http_address_, path); }
  Metrics GetMetrics() const;
  // Waits until that many calls are parked.
  void AwaitWaiters(int count) const;
  // What it has written to the standard error, in all its runs.
  std::string Log() const;

 private:
  Options options_;
  const TempDir dir_;
  std::unique_ptr<Process> process_;
  std::string earlier_log_;
  std::string address_;
  std::string http_address_;
  std::string admin_address_;
};

// The text value of a member in a line of JSON; throws if there is none.
std::string JsonText(const std::string& line, const std::string& name);

}  // namespace onced::integration
