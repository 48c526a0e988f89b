// A run of the load on a real server that is ended and started again, and the
// checker's verdict on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/fault/load.h"
#include "tests/integration/server_process.h"

namespace onced::fault {

// Of the environment: how many cycles each test does, and from which seed.
int CyclesOr(int preset);     // ONCED_FAULT_CYCLES
std::uint64_t SeedOrDrawn();  // ONCED_FAULT_SEED

// Operation: a server, and clients that load it, until Finish().
// Threads:   one.
// Promise:   the seed is printed. If Finish() finds something broken, it keeps the
//            history as a file and says how to check it again.
class Campaign {
 public:
  explicit Campaign(integration::ServerProcess::Options options, int clients = 8);

  std::mt19937_64& random() { return random_; }
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  // Lets the load run for some answers, and then for a moment.
  void SomeLoad();

  // Kill -9, and that it is dead is known to the history.
  void Kill();
  // SIGTERM, and whatever becomes of it. Fails the test on another exit code than 0.
  void Terminate();
  // SIGTERM, and kill -9 some time into the drain.
  void KillInTheDrain();
  // Starts it, and kills it some time before or after it serves.
  void StartAndKill();
  void Start();
  // SIGSTOP, and some time later SIGCONT.
  void Pause();

  integration::ServerProcess& server() { return server_; }
  History& history() { return history_; }

  // Ends the load, reads everything back and checks. Once.
  void Finish();
  // As Finish(), without a test's failure.
  Verdict Judge();
  // After Finish(): what would be broken if no call without an answer had had any
  // effect. Nothing, as long as no answer was lost.
  Verdict JudgeAsIfUnansweredDidNothing() const;

 private:
  static integration::ServerProcess::Options Configured(
      integration::ServerProcess::Options options);
  void KeepHistory(const Recording& run) const;

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  integration::ServerProcess server_;
  History history_;
  Load load_;
};

}  // namespace onced::fault
