// Bytes that are the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "server/base/random.h"

namespace onced {

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : generator_(seed) {}
  void Fill(void* out, std::size_t size) override {
    auto* bytes = static_cast<std::uint8_t*>(out);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(generator_());
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace onced
