#include "tests/integration/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace onced::integration {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool SendAll(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// For those who read from it or write to it: the number stays taken.
void End(int fd) { shutdown(fd, SHUT_RDWR); }

}  // namespace

Proxy::Proxy(std::string target) : target_(std::move(target)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, size) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("the proxy can't listen");
  }
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  acceptor_ = std::thread([this] { Accept(); });
}

Proxy::~Proxy() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  End(listener_);
  acceptor_.join();
  Cut();
  for (Connection& connection : connections_) {
    connection.up.join();
    connection.down.join();
    close(connection.client);
    close(connection.server);
  }
  close(listener_);
}

void Proxy::SetTarget(std::string target) {
  const std::lock_guard lock(mutex_);
  target_ = std::move(target);
}

void Proxy::SwallowAnswers() {
  const std::lock_guard lock(mutex_);
  swallowing_ = true;
}

void Proxy::Cut() {
  const std::lock_guard lock(mutex_);
  swallowing_ = false;
  for (const Connection& connection : connections_) {
    End(connection.client);
    End(connection.server);
  }
}

void Proxy::Accept() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    Open(client);
  }
}

void Proxy::Open(int client) {
  const std::lock_guard lock(mutex_);
  const int port = std::atoi(target_.c_str() + target_.rfind(':') + 1);
  const sockaddr_in address = Loopback(static_cast<std::uint16_t>(port));
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // Where nobody listens the client sees its connection end.
  if (closing_ ||
      connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(server);
    close(client);
    return;
  }
  connections_.push_back({.client = client,
                          .server = server,
                          .up = std::thread([=, this] { PumpUp(client, server); }),
                          .down = std::thread([=, this] { PumpDown(server, client); })});
}

void Proxy::PumpUp(int client, int server) {
  std::array<char, 16384> buffer;
  ssize_t count = 0;
  while ((count = recv(client, buffer.data(), buffer.size(), 0)) > 0) {
    if (!SendAll(server, buffer.data(), static_cast<std::size_t>(count))) break;
  }
  End(client);
  End(server);
}

void Proxy::PumpDown(int server, int client) {
  std::array<char, 16384> buffer;
  ssize_t count = 0;
  while ((count = recv(server, buffer.data(), buffer.size(), 0)) > 0) {
    const std::lock_guard lock(mutex_);
    if (swallowing_) continue;
    if (!SendAll(client, buffer.data(), static_cast<std::size_t>(count))) break;
  }
  End(client);
  End(server);
}

}  // namespace onced::integration
