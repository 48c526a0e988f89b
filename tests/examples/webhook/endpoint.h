// The service behind the gateway, as it may be.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace onced::examples {

// Operation: takes connections, each on a thread of its own, and answers as it is told.
// Threads:   any.
class Endpoint {
 public:
  enum class Behaviour {
    kAnswer,  // With `status`.
    kHang,    // Until another behaviour is set; then as that one has it.
    kDrop,    // Ends the connection without a word, having read the request.
  };
  struct Request {
    std::string head;  // The request line and the headers.
    std::string body;

    // A header's value; empty: there is none.
    std::string Header(const std::string& name) const;
  };

  // Has an address, but nobody listens there yet.
  Endpoint();
  ~Endpoint();

  void Listen();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/events"; }
  void Set(Behaviour behaviour, int status = 200);
  // All that have come so far.
  std::vector<Request> requests() const;
  // Waits until so many have come.
  std::vector<Request> AwaitRequests(std::size_t count) const;

 private:
  void Accept();
  void Serve(int connection);

  int listener_ = -1;
  std::uint16_t port_ = 0;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_.
  Behaviour behaviour_ = Behaviour::kAnswer;
  int status_ = 200;
  bool stopping_ = false;
  std::vector<Request> requests_;
  std::vector<std::thread> connections_;

  std::thread acceptor_;
};

}  // namespace onced::examples
