// Tokens that a caller of a peer draws for itself.
#pragma once

#include <cstring>
#include <random>
#include <string>

namespace onced::bench {

inline constexpr std::size_t kTokenBytes = 16;

// Not secrets, but 128 bits that are drawn anew each time.
class TokenSource {
 public:
  TokenSource() : random_(std::random_device{}()) {}

  std::string Draw() {
    const std::uint64_t halves[] = {random_(), random_()};
    std::string token(kTokenBytes, '\0');
    std::memcpy(token.data(), halves, kTokenBytes);
    return token;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace onced::bench
