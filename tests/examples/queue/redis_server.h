// Redis, as a process.
#pragma once

#include <memory>
#include <string>

#include "tests/integration/process.h"
#include "tests/integration/temp_dir.h"

namespace onced::examples {

// Threads: the one that starts it outlives it.
class RedisServer {
 public:
  static bool IsInstalled();

  RedisServer();
  // The path of its socket: it has no port that another could take.
  const std::string& address() const { return address_; }

 private:
  const integration::TempDir dir_;
  const std::string address_;
  std::unique_ptr<integration::Process> process_;
};

}  // namespace onced::examples
