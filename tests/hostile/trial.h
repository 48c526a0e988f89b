// One attack on a server, and what a client with manners notices of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/api.h"
#include "tests/integration/server_process.h"

namespace onced::hostile {

// What attackers and the trial tell each other: it ends by itself, whatever becomes of the
// client, once it has gone on for a while and has done enough.
// Threads: any.
class Attack {
 public:
  explicit Attack(std::size_t rounds_min) : rounds_min_(rounds_min) {}

  bool ended() const { return gives_up_ || (rounds_ >= rounds_min_ && Clock::now() >= until_); }
  void GiveUp() { gives_up_ = true; }
  // Something was done, as often as once for each connection or thousand frames.
  void CountRound() { ++rounds_; }
  std::size_t rounds() const { return rounds_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kDuration{1'000};

  const std::size_t rounds_min_;
  const Clock::time_point until_ = Clock::now() + kDuration;
  std::atomic<bool> gives_up_{false};
  std::atomic<std::size_t> rounds_{0};
};

// Attacks until it is ended; `thread` is its number, from 0.
using Attacker = std::function<void(Attack& attack, int thread)>;

// How the client was served. Times are of a Reserve and its Commit, together, and of what it
// took to make either of them again.
struct Service {
  std::vector<std::chrono::nanoseconds> latencies;  // Ascending.
  double MedianMs() const { return AtShare(0.5); }
  double P99Ms() const { return AtShare(0.99); }
  double AtShare(double share) const;
  std::size_t retries = 0;  // A connection or a stream broke, and the call was made again.
  void operator+=(const Service& more);
};

// Operation: starts a server, has a client served undisturbed, then under the attack, then
//            undisturbed again, and looks at what is left of the server. A gtest failure tells what
//            was not as it should be: a wrong answer, a result that is lost, a server that doesn't
//            serve afterwards, or memory. How much longer the client waited is only told: that
//            depends on what else the machine does.
// Threads:   one; attackers have their own.
class Trial {
 public:
  struct Bounds {
    // Of the server's memory, above what it had; in MiB.
    double memory_mib_max = 200;
    // Of the attack, at least.
    std::size_t rounds = 1;
  };
  struct Options {
    std::string name;  // Of the attack.
    Bounds bounds;
    integration::ServerProcess::Options server;
    std::size_t descriptors_max = 0;  // 0: as many as this process may have.
    // How the client connects to an address; each call makes a connection of its own.
    std::function<std::shared_ptr<grpc::Channel>(const std::string&)> connect =
        integration::ConnectTo;
  };

  explicit Trial(Options options);

  // Attacks on that many threads, then checks.
  void Run(const Attacker& attacker, int threads = 1);

  integration::ServerProcess& server() { return *server_; }
  const std::string& address() const { return server_->address(); }
  // That the server lives, and serves who comes anew.
  void ExpectServing();

 private:
  // Serves pairs until `done`, at least `least` of them.
  Service Serve(std::size_t least, const std::function<bool()>& done);
  // Each under a key of its own, and as a client should: with a request_id, and again if it
  // isn't known what became of it.
  void ServePair(Service& service);
  // What was committed, the last ones at least, is replayed.
  void ExpectNothingLost();
  void NoteUse();
  void Report(const Service& quiet, const Service& attacked, const Attack& attack) const;

  const Options options_;
  std::string launcher_;  // A script that lowers the limit of descriptors.
  const integration::TempDir dir_;
  std::unique_ptr<integration::ServerProcess> server_;
  std::unique_ptr<integration::Api> client_;
  std::size_t next_key_ = 0;
  double memory_mib_before_ = 0;
  double memory_mib_peak_ = 0;
  double memory_mib_after_ = 0;
  std::size_t descriptors_peak_ = 0;
};

// Of a process: resident memory, and open descriptors.
double MemoryMib(pid_t pid);
std::size_t Descriptors(pid_t pid);

}  // namespace onced::hostile
