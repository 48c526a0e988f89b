// A server to be measured.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/driver.h"

namespace onced::bench {

// Lifetime: its process ends with it; the drivers it has made are gone by then.
class Peer {
 public:
  virtual ~Peer() = default;
  // As it says itself: "redis-server 7.0.15". Goes into the report.
  virtual std::string Version() const = 0;
  virtual std::string address() const = 0;
  // Of the server, for its memory and CPU; 0 if it has none of its own.
  virtual int pid() const = 0;
  // Where /metrics is served; empty if there is none.
  virtual std::string http_address() const { return ""; }
  // Fills in the address. Connected when it returns.
  virtual absl::StatusOr<std::unique_ptr<Driver>> MakeDriver(DriverOptions options) = 0;
};

struct PeerOptions {
  std::string folder;       // Exists, empty, this peer's own. On the disk to be measured.
  std::optional<int> core;  // The process is pinned to it.
  std::vector<std::string> onced_flags;  // Of onced alone, beside those it needs.
  // Of our own servers: what is to run them, such as a profiler, with its arguments.
  std::vector<std::string> runner;
};

// One row of what can be measured.
struct PeerKind {
  std::string name;     // "redis-aof-always"
  std::string what;     // For the report: how it is set up, in a sentence.
  int steps_max = 1;    // That one message takes: 1, or many for batches and pipelines.
  bool pooled = false;  // A connection takes one message at a time: one a caller is fair.
  bool stores = true;   // Else it needs, and knows, no preparation.
  // FAILED_PRECONDITION: can't be measured here, such as for a missing program: its
  // rows say "skipped" and this message. Any other error fails the run.
  std::function<absl::StatusOr<std::unique_ptr<Peer>>(const PeerOptions&)> start;
  // To one that runs already, at options.address. May be empty.
  std::function<absl::StatusOr<std::unique_ptr<Driver>>(const DriverOptions&)> connect;
};

// peers/: what Debian has packaged, and what a store alone could do.
std::vector<PeerKind> PackagedPeers();
// grpc/: the bare echo and onced.
std::vector<PeerKind> GrpcPeers();

}  // namespace onced::bench
