// Clients that do to a server what callers do, for as long as it takes, and log it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/raw_client.h"
#include "tests/fault/answers.h"
#include "tests/fault/checker.h"
#include "tests/fault/history.h"

namespace onced::fault {

// The configuration that the load needs, as YAML for the server: namespaces whose
// lapsed keys are regranted, are held, and are soon absent.
std::string LoadConfig();
// The same, for the checker.
Rules LoadRules();

struct LoadOptions {
  std::uint64_t seed = 1;
  int clients = 8;
  // Nothing of a run may take longer: a call is unknown after that.
  absl::Duration call_deadline = absl::Seconds(20);
};

// Operation: clients reserve, wait, commit, release, extend, inspect, one by one and
//            in batches, on few hot keys and many others, with short and long
//            leases and retentions; they send again what they got no answer to;
//            some never settle, or too late. When the server is down they wait
//            until they hear of another.
// Threads:   one a client; the functions from one thread.
// Promise:   every call is in the history, answered or unknown. What a client asks
//            is drawn from the seed; how clients meet is up to the machine.
class Load {
 public:
  // `history` outlives it.
  Load(const LoadOptions& options, History& history);
  ~Load();  // Stops.

  // A server is about to start. If it isn't told, ServerUp() tells it.
  void ServerStarts();
  // It serves there; clients go to it.
  void ServerUp(const std::string& address);
  // The server is dead for sure: what it had not done is never done.
  void ServerDown();

  // Waits until so many calls more were answered; false if they are not within a
  // minute.
  bool AwaitAnswers(std::uint64_t count);

  // Clients end their present call, and then themselves. A server has to be up, or
  // their calls to fail.
  void Stop();
  // After Stop(), with a server up: looks at every key there was and reserves it, so
  // that what was acknowledged has to show. False if the server didn't answer.
  bool ReadBack();

 private:
  class Client;
  // Where the server is: known to all clients.
  struct Target {
    std::uint64_t generation = 0;  // Grows with each server.
    std::string address;
    bool down = false;  // For sure.
  };

  // Waits until none is known to be down, or Stop().
  Target AwaitTarget() const;
  // Waits, not long, for another server than that.
  void AwaitOther(std::uint64_t generation) const;
  std::string DrawKey(std::mt19937_64& random);

  const LoadOptions options_;
  History& history_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> episodes_{0};

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Target target_;  // Guarded by mutex_.

  std::vector<std::thread> threads_;  // Last: they use what is above.
};

}  // namespace onced::fault
