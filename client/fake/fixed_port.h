// A port that stays ours while nobody listens on it.
#pragma once

namespace onced::client {

// Lifetime: nobody else is given the port as long as it lives.
class FixedPort {
 public:
  // Takes a free one of 127.0.0.1, or ends the process.
  FixedPort();
  ~FixedPort();
  FixedPort(const FixedPort&) = delete;
  FixedPort& operator=(const FixedPort&) = delete;

  // gRPC can listen on it, by SO_REUSEPORT. Until it does, connections are refused.
  int number() const { return number_; }

 private:
  int socket_;
  int number_ = 0;
};

}  // namespace onced::client
