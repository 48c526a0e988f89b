// A network between a client and a server, to be broken.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace onced::integration {

// Operation: hands on what comes, in both directions, until it is told otherwise.
// Threads:   two a connection and one that accepts; the functions from any.
// Promise:   nothing of it is left once it is destroyed.
class Proxy {
 public:
  // `target`: "127.0.0.1:PORT".
  explicit Proxy(std::string target);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  const std::string& address() const { return address_; }
  // Where connections from now on lead to.
  void SetTarget(std::string target);
  // From now on no answer comes through; requests do.
  void SwallowAnswers();
  // Ends all connections. Answers of later ones come through.
  void Cut();

 private:
  struct Connection {
    int client = -1;
    int server = -1;
    std::thread up;
    std::thread down;
  };

  void Accept();
  void Open(int client);
  void PumpUp(int client, int server);
  void PumpDown(int server, int client);

  std::string address_;
  int listener_ = -1;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::string target_;
  bool swallowing_ = false;
  bool closing_ = false;
  std::vector<Connection> connections_;

  std::thread acceptor_;  // Last: uses what is above.
};

}  // namespace onced::integration
