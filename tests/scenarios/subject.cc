#include "tests/scenarios/subject.h"

#include <stdexcept>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "client/fake/fake_server.h"
#include "server/config/config.h"
#include "server/ledger/policy.h"
#include "tests/integration/server_process.h"

namespace onced::scenarios {
namespace {

class ProcessSubject final : public Subject {
 public:
  explicit ProcessSubject(const SubjectOptions& options)
      : server_({.flags = options.flags, .config = options.config}) {}

  std::shared_ptr<grpc::Channel> Connect() override { return server_.Connect(); }
  std::shared_ptr<grpc::Channel> ConnectToAdmin() override { return server_.ConnectToAdmin(); }
  void Restart() override {
    server_.Stop();
    server_.Start();
  }
  void Kill() override {
    server_.Kill9();
    server_.Start();
  }

 private:
  integration::ServerProcess server_;
};

// As the server itself reads it.
Config ConfigOf(const SubjectOptions& options) {
  std::vector<std::string> args = options.flags;
  for (const char* arg : {"--data-dir", "/none", "--config", "scenario.yaml"})
    args.emplace_back(arg);
  const auto read = LoadConfig(
      args, [](const std::string&) { return std::nullopt; },
      [&](const std::string&) -> absl::StatusOr<std::string> { return options.config; });
  if (!read.ok()) throw std::runtime_error(std::string(read.status().message()));
  return std::get<Config>(*read);
}

client::FakePolicy FakePolicyOf(const Policy& policy) {
  return {.hold_on_lapse = policy.on_lapse == OnLapse::kHold,
          .lease_min = policy.lease.min,
          .lease_max = policy.lease.max,
          .lease_default = policy.lease.preset,
          .retention_min = policy.retention.min,
          .retention_max = policy.retention.max,
          .retention_default = policy.retention.preset,
          .wait_max = policy.wait.max,
          .wait_default = policy.wait.preset,
          .lapsed_retention = policy.lapsed_retention,
          .max_body_bytes = policy.body_bytes_max};
}

client::FakeServerOptions FakeOptionsOf(const Config& config) {
  client::FakeServerOptions options{.others = std::nullopt, .restart_grace = config.restart_grace};
  for (const auto& [name, policy] : config.namespaces) {
    options.namespaces[name] = FakePolicyOf(policy);
  }
  if (config.unlisted_policy.has_value()) options.others = FakePolicyOf(*config.unlisted_policy);
  return options;
}

class FakeSubject final : public Subject {
 public:
  explicit FakeSubject(const SubjectOptions& options) : server_(FakeOptionsOf(ConfigOf(options))) {}

  std::shared_ptr<grpc::Channel> Connect() override {
    return integration::ConnectTo(server_.address());
  }
  std::shared_ptr<grpc::Channel> ConnectToAdmin() override { return Connect(); }
  void Restart() override {
    server_.Stop();
    server_.Start();
  }
  void Kill() override { Restart(); }

 private:
  client::FakeServer server_;
};

}  // namespace

std::unique_ptr<Subject> NewProcess(const SubjectOptions& options) {
  return std::make_unique<ProcessSubject>(options);
}

std::unique_ptr<Subject> NewFake(const SubjectOptions& options) {
  return std::make_unique<FakeSubject>(options);
}

}  // namespace onced::scenarios
