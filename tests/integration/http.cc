#include "tests/integration/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "tests/integration/process.h"

namespace onced::integration {
namespace {

class Socket {
 public:
  Socket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() { close(fd_); }

  bool Connect(const std::string& address) const {
    const std::size_t colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    return connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  bool Send(const std::string& text) const {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  std::string ReceiveAll() const {
    std::string text;
    std::array<char, 4096> buffer;
    ssize_t count = 0;
    while ((count = recv(fd_, buffer.data(), buffer.size(), 0)) > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  const int fd_;
};

HttpReply Ask(const std::string& address, const std::string& method_and_path,
              const std::string& more) {
  const Socket socket;
  const std::string request =
      method_and_path + " HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n" + more;
  if (!socket.Connect(address) || !socket.Send(request)) return {};
  const std::string reply = socket.ReceiveAll();
  const std::size_t space = reply.find(' ');
  const std::size_t body = reply.find("\r\n\r\n");
  if (space == std::string::npos || body == std::string::npos) return {};
  return {std::atoi(reply.c_str() + space + 1), reply.substr(0, body + 2), reply.substr(body + 4)};
}

}  // namespace

HttpReply HttpGet(const std::string& address, const std::string& path) {
  return Ask(address, "GET " + path, "\r\n");
}

HttpReply HttpPost(const std::string& address, const std::string& path, const std::string& body,
                   const std::vector<std::string>& headers) {
  std::string more = "Content-Length: " + std::to_string(body.size()) + "\r\n";
  for (const std::string& header : headers) more += header + "\r\n";
  return Ask(address, "POST " + path, more + "\r\n" + body);
}

Metrics ParseMetrics(const std::string& text) {
  Metrics metrics;
  for (const std::string& line : LinesOf(text)) {
    const std::size_t space = line.rfind(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    metrics[line.substr(0, space)] = std::atof(line.c_str() + space + 1);
  }
  return metrics;
}

}  // namespace onced::integration
