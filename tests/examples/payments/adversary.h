// Who kills and freezes.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/examples/payments/fleet.h"

namespace onced::examples {

// Threads: the fleet's.
class Adversary {
 public:
  Adversary(Fleet& fleet, std::uint64_t seed) : fleet_(fleet), random_(seed) {}

  // Kills onced, kills a payment server, or freezes one for longer than a lease. In three times
  // it does each once.
  void Act();
  // Between 0 and 1.
  double Fraction() { return std::uniform_real_distribution<>(0, 1)(random_); }

  int onced_kills() const { return onced_kills_; }
  int server_kills() const { return server_kills_; }
  int freezes() const { return freezes_; }

 private:
  enum class Deed { kKillOnced, kKillServer, kFreezeServer };

  std::size_t AnyServer() { return random_() % fleet_.size(); }
  void FreezeAServer();

  Fleet& fleet_;
  std::mt19937_64 random_;
  std::vector<Deed> planned_;
  int onced_kills_ = 0;
  int server_kills_ = 0;
  int freezes_ = 0;
};

}  // namespace onced::examples
