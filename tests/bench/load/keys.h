// Names of keys, and what goes with them.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tests/bench/driver.h"

namespace onced::bench {

// Threads: the load's.
class Keys {
 public:
  // The same seed names the same keys; `part` tells request_ids apart.
  explicit Keys(std::uint64_t seed, std::uint64_t part = 0);

  // 32 bytes: `kind`, this run's name and the number. `kind` as in workload.h.
  void Name(char kind, std::uint64_t number, std::string& key) const;
  // Makes `step` a reserve of this key. Its request_id is a new one.
  void Reserve(char kind, std::uint64_t number, Expect expect, Step& step);
  std::mt19937_64& random() { return random_; }

 private:
  std::uint64_t run_;
  std::mt19937_64 random_;
};

}  // namespace onced::bench
