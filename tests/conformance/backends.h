// Every implementation of Store, in a form that a test can restart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/storage/store.h"
#include "tests/conformance/store_calls.h"

namespace onced {

struct OpenOptions {
  std::optional<std::uint32_t> shards;
  absl::Time wall_now;
  absl::Duration restart_grace = absl::Seconds(15);
};

// One store's data, and the store while it is open.
class Backend {
 public:
  virtual ~Backend() = default;
  // Closes the store if it is open, and opens it on the same data.
  virtual absl::Status Open(const OpenOptions& options) = 0;
  virtual Store& store() = 0;
  // Closes the store and replaces the stored bytes of a record.
  virtual void CloseAndDamage(const Place& place, const std::string& bytes) = 0;
};

std::unique_ptr<Backend> MakeMemoryBackend();
std::unique_ptr<Backend> MakeFaultyBackend();  // No fault, but everything passes through.
std::unique_ptr<Backend> MakeSlowBackend();    // Another thread tells, of one unit at a time.
std::unique_ptr<Backend> MakeRocksBackend();

}  // namespace onced
