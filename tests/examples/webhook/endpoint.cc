#include "tests/examples/webhook/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "tests/integration/process.h"

namespace onced::examples {
namespace {

// Nothing: the other side has gone.
std::optional<Endpoint::Request> Read(int connection) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const std::size_t head = text.find("\r\n\r\n");
    if (head != std::string::npos) {
      Endpoint::Request request{text.substr(0, head + 2), text.substr(head + 4)};
      const std::string size = request.Header("Content-Length");
      if (request.body.size() >= std::strtoull(size.c_str(), nullptr, 10)) return request;
    }
    const ssize_t count = recv(connection, buffer.data(), buffer.size(), 0);
    if (count <= 0) return std::nullopt;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string Endpoint::Request::Header(const std::string& name) const {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t value = at + name.size() + 4;
  return head.substr(value, head.find("\r\n", value) - value);
}

Endpoint::Endpoint() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the endpoint has no address");
  }
  port_ = ntohs(address.sin_port);
}

Endpoint::~Endpoint() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  shutdown(listener_, SHUT_RDWR);
  if (acceptor_.joinable()) acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
}

void Endpoint::Listen() {
  if (listen(listener_, 64) != 0) throw std::runtime_error("the endpoint can't listen");
  acceptor_ = std::thread([this] { Accept(); });
}

void Endpoint::Set(Behaviour behaviour, int status) {
  {
    const std::lock_guard lock(mutex_);
    behaviour_ = behaviour;
    status_ = status;
  }
  changed_.notify_all();
}

std::vector<Endpoint::Request> Endpoint::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<Endpoint::Request> Endpoint::AwaitRequests(std::size_t count) const {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return requests_.size() >= count; };
  if (!changed_.wait_for(lock, integration::kPatience, there)) {
    throw std::runtime_error("the endpoint waits for more requests");
  }
  return requests_;
}

void Endpoint::Accept() {
  int connection = -1;
  while ((connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0) {
    const std::lock_guard lock(mutex_);
    connections_.emplace_back([this, connection] { Serve(connection); });
  }
}

void Endpoint::Serve(int connection) {
  std::optional<Request> request = Read(connection);
  if (request.has_value()) {
    std::unique_lock lock(mutex_);
    requests_.push_back(*std::move(request));
    const std::string body = "done " + std::to_string(requests_.size());
    changed_.notify_all();
    changed_.wait(lock, [this] { return stopping_ || behaviour_ != Behaviour::kHang; });
    if (behaviour_ == Behaviour::kAnswer) {
      const std::string answer =
          "HTTP/1.1 " + std::to_string(status_) +
          " Status\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
          "\r\n\r\n" + body;
      send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }
  close(connection);
}

}  // namespace onced::examples
