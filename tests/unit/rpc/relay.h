// A connection that can be cut.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"

namespace onced::rpc_test {

// Operation: passes on all bytes between the first who connects to it and a port of
//            this machine, until it is cut.
// Threads:   the functions on one.
class Relay {
 public:
  explicit Relay(int to_port) : listener_(NewSocket()), server_(NewSocket()) {
    sockaddr_in address = Local(0);
    Check(bind(listener_, Generic(address), sizeof address) == 0 && listen(listener_, 1) == 0);
    socklen_t size = sizeof address;
    Check(getsockname(listener_, Generic(address), &size) == 0);
    port_ = ntohs(address.sin_port);
    address = Local(to_port);
    Check(connect(server_, Generic(address), sizeof address) == 0);
    runner_ = std::thread([this] { Run(); });
  }
  ~Relay() {
    Cut();
    close(listener_);
    close(server_);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  // Both sides see the other one go.
  void Cut() {
    shutdown(listener_, SHUT_RDWR);
    shutdown(server_, SHUT_RDWR);
    if (runner_.joinable()) runner_.join();
  }

 private:
  static void Check(bool done) {
    if (!done) throw std::runtime_error("relay: no connection");
  }
  static int NewSocket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }
  static sockaddr_in Local(int port) {
    return {.sin_family = AF_INET,
            .sin_port = htons(static_cast<std::uint16_t>(port)),
            .sin_addr = {htonl(INADDR_LOOPBACK)}};
  }
  static sockaddr* Generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

  void Run() {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    std::thread back([this, client] { Pass(server_, client); });
    Pass(client, server_);
    back.join();
    close(client);
  }
  static void Pass(int from, int to) {
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t count = read(from, bytes.data(), bytes.size());
      if (count <= 0 || send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) < 0) {
        break;
      }
    }
    shutdown(from, SHUT_RDWR);
    shutdown(to, SHUT_RDWR);
  }

  const int listener_;
  const int server_;
  int port_ = 0;
  std::thread runner_;  // Last: uses what is above.
};

}  // namespace onced::rpc_test
