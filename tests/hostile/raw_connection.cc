#include "tests/hostile/raw_connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "tests/hostile/http2.h"

namespace onced::hostile {
namespace {

// True if it can be done now.
bool Ready(int fd, short event, std::chrono::milliseconds patience) {
  pollfd waited{.fd = fd, .events = event, .revents = 0};
  return poll(&waited, 1, static_cast<int>(patience.count())) > 0;
}

}  // namespace

RawConnection::RawConnection(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return;
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    Close();
    return;
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd_, F_SETFL, O_NONBLOCK);
}

RawConnection::~RawConnection() { Close(); }

RawConnection::RawConnection(RawConnection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

RawConnection& RawConnection::operator=(RawConnection&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

bool RawConnection::Send(const std::string& bytes, std::chrono::milliseconds patience) {
  std::size_t sent = 0;
  while (fd_ >= 0 && sent < bytes.size()) {
    const ssize_t count = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      if (!Ready(fd_, POLLOUT, patience)) return false;
    } else if (errno != EINTR) {
      Close();
    }
  }
  return fd_ >= 0;
}

std::string RawConnection::Take() {
  std::string taken;
  std::array<char, 65'536> buffer;
  while (fd_ >= 0) {
    const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
    if (count > 0) {
      taken.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      break;
    } else if (count == 0 || errno != EINTR) {
      Close();
    }
  }
  return taken;
}

std::string RawConnection::Await(std::chrono::milliseconds patience) {
  if (fd_ >= 0) Ready(fd_, POLLIN, patience);
  return Take();
}

void RawConnection::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void RawConnection::Abort() {
  if (fd_ < 0) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  Close();
}

RawConnection BeginHttp2(const std::string& address, const std::string& settings) {
  RawConnection connection(address);
  connection.Send(Preface() + settings);
  return connection;
}

RawConnection BeginHttp2(const std::string& address) { return BeginHttp2(address, Settings()); }

}  // namespace onced::hostile
