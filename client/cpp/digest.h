// SHA-256 (FIPS 180-4), of bytes that need not be in memory at once.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace onced::client {

class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void Add(absl::string_view bytes);
  // 32 raw bytes. Called once, last.
  std::string Finish();

 private:
  struct State;  // Keeps OpenSSL out of the header.
  std::unique_ptr<State> state_;
};

std::string Sha256(absl::string_view bytes);

}  // namespace onced::client
