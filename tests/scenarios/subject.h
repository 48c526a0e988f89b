// What scenarios are played against.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

namespace onced::scenarios {

struct SubjectOptions {
  std::string config;  // YAML; empty: none.
  std::vector<std::string> flags;
};

// Threads: one. What fails throws.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual std::shared_ptr<grpc::Channel> Connect() = 0;
  virtual std::shared_ptr<grpc::Channel> ConnectToAdmin() = 0;
  // Each ends it, and starts it again on the same data.
  virtual void Restart() = 0;
  virtual void Kill() = 0;
};

// The real server, as a process.
std::unique_ptr<Subject> NewProcess(const SubjectOptions& options);
// The one that users have for their tests, in this process. To it, an end is an end.
std::unique_ptr<Subject> NewFake(const SubjectOptions& options);

}  // namespace onced::scenarios
