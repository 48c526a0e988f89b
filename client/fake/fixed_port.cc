#include "client/fake/fixed_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/check.h"

namespace onced::client {

FixedPort::FixedPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ONCED_CHECK(socket_ >= 0);
  const int yes = 1;
  ONCED_CHECK(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
  ONCED_CHECK(setsockopt(socket_, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ONCED_CHECK(bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  ONCED_CHECK(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  number_ = ntohs(address.sin_port);
}

FixedPort::~FixedPort() { close(socket_); }

}  // namespace onced::client
