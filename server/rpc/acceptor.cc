#include "server/rpc/acceptor.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/thread_name.h"

namespace onced {
namespace {

// What a connection may have sent that nobody has read: the kernel takes twice that.
// See docs/decisions/0026-a-connection-is-read-in-turns.md.
constexpr int kReceiveBufferBytes = 16 << 10;
// Connections that may wait to be accepted.
constexpr int kBacklog = 1'024;
// Of one listener in a row, before others get their turn.
constexpr int kAcceptsMax = 256;
// Between two counts, and between two looks at a machine without descriptors.
constexpr int kRecountMillis = 1'000;
constexpr int kBackOffMillis = 100;
// Between two counts if there seems to be no room.
constexpr int kCountsApartMillis = 20;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<Addresses> Resolve(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  if (host.empty()) return absl::InvalidArgumentError("is not host:port");
  const addrinfo hints{.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return absl::NotFoundError(gai_strerror(error));
  return Addresses(found, &freeaddrinfo);
}

absl::Status ErrnoStatus() { return absl::UnavailableError(std::strerror(errno)); }

std::uint16_t& PortOf(sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                       : reinterpret_cast<sockaddr_in&>(address).sin_port;
}

// Without the port. Of IPv6 the network, of which one machine has all addresses.
std::string PeerOf(sockaddr_storage address, socklen_t size) {
  auto& bytes = reinterpret_cast<sockaddr_in6&>(address).sin6_addr.s6_addr;
  const bool v6 = address.ss_family == AF_INET6;
  if (v6 && !IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr))
    std::fill(bytes + 8, bytes + 16, std::uint8_t{0});
  char text[NI_MAXHOST] = "";
  // Ignored: those without a text count as one.
  (void)getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, text, sizeof text, nullptr,
                    0, NI_NUMERICHOST);
  return text;
}

// Listens at one address, and says at which port.
absl::StatusOr<Descriptor> ListenAt(const addrinfo& found, int& port) {
  sockaddr_storage address{};
  std::memcpy(&address, found.ai_addr, found.ai_addrlen);
  // All addresses of a name are to have the same port.
  if (PortOf(address) == 0) PortOf(address) = htons(static_cast<std::uint16_t>(port));
  Descriptor listener(socket(found.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener) return ErrnoStatus();
  const int on = 1;
  // Without SO_REUSEPORT: else two servers share one port in silence. The IPv4 address
  // of a name has a socket of its own.
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Of the connections, too, which inherit it.
  setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes,
             sizeof kReceiveBufferBytes);
  const bool any6 = found.ai_family == AF_INET6 &&
                    IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr);
  const int only6 = any6 ? 0 : 1;
  if (found.ai_family == AF_INET6)
    setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only6, sizeof only6);
  socklen_t size = found.ai_addrlen;
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener.get(), kBacklog) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return ErrnoStatus();
  }
  port = ntohs(PortOf(address));
  return listener;
}

Descriptor OpenReserve() { return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

std::optional<ino_t> InodeOf(int fd) {
  struct stat found {};
  if (fstat(fd, &found) != 0 || !S_ISSOCK(found.st_mode)) return std::nullopt;
  return found.st_ino;
}

constexpr int kOpensMax = 8;

// The kernel has none to give, of whatever it takes.
bool LacksResources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

// ---- Descriptor ----

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.Release();
  }
  return *this;
}

int Descriptor::Release() { return std::exchange(fd_, -1); }

void Descriptor::Close() {
  if (fd_ >= 0) close(Release());
}

// ---- OpenConnections ----

bool OpenConnections::Add(int fd, const std::string& address) {
  const auto inode = InodeOf(fd);
  if (!inode.has_value()) return false;
  // The number may be that of one which was closed, and not yet missed.
  const auto [at, added] = open_.try_emplace(fd);
  if (!added && --by_address_[at->second.address] == 0) by_address_.erase(at->second.address);
  at->second = {*inode, address};
  ++by_address_[address];
  return true;
}

void OpenConnections::Recount() {
  for (auto at = open_.begin(); at != open_.end();) {
    const auto one = at++;
    if (InodeOf(one->first) == one->second.inode) continue;
    const auto from = by_address_.find(one->second.address);
    if (--from->second == 0) by_address_.erase(from);
    open_.erase(one);
  }
}

std::size_t OpenConnections::CountFrom(const std::string& address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? 0 : found->second;
}

// ---- Acceptor ----

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(Options options) {
  std::unique_ptr<Acceptor> acceptor(new Acceptor(std::move(options)));
  absl::Status opened = acceptor->Open();
  // The port that was free at the first address may be taken at the next.
  const bool any_port = absl::EndsWith(acceptor->options_.address, ":0");
  for (int i = 1; any_port && i < kOpensMax && !opened.ok() && acceptor->port_ != 0; ++i) {
    opened = acceptor->Open();
  }
  if (!opened.ok()) {
    return absl::UnavailableError(absl::StrCat(acceptor->options_.setting, ": can't listen on ",
                                               acceptor->options_.address, ": ", opened.message()));
  }
  return acceptor;
}

// One address of several may be of a family that this machine doesn't have.
absl::Status Acceptor::Open() {
  listeners_.clear();
  port_ = 0;
  auto found = Resolve(options_.address);
  if (!found.ok()) return found.status();
  absl::Status failed = absl::NotFoundError("has no address");
  std::set<std::string> seen;  // A name may list one twice.
  for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
    if (!seen.emplace(reinterpret_cast<const char*>(one->ai_addr), one->ai_addrlen).second)
      continue;
    auto listener = ListenAt(*one, port_);
    if (listener.ok()) {
      listeners_.push_back(*std::move(listener));
    } else if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) {
      failed = listener.status();
    } else {
      return listener.status();
    }
  }
  if (listeners_.empty()) return failed;
  reserve_ = OpenReserve();
  wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return wake_ ? absl::OkStatus() : ErrnoStatus();
}

void Acceptor::Start(HandOver hand_over) {
  runner_ = std::thread([this, hand_over = std::move(hand_over)] { Run(hand_over); });
}

void Acceptor::Stop() {
  stopping_ = true;
  if (wake_) Wake();
  if (runner_.joinable()) runner_.join();
  listeners_.clear();
}

void Acceptor::Wake() const {
  const std::uint64_t one = 1;
  // Ignored: it fails only if it has been woken already.
  (void)!write(wake_.get(), &one, sizeof one);
}

void Acceptor::Run(const HandOver& hand_over) {
  thread_.Adopt();
  NameThisThread("acceptor");
  std::vector<pollfd> watched;
  watched.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  for (const Descriptor& listener : listeners_) {
    watched.push_back({.fd = listener.get(), .events = POLLIN, .revents = 0});
  }
  Recount();
  while (!stopping_) {
    // Without descriptors, what waits at the listeners would make it spin.
    const bool rests = std::exchange(out_of_descriptors_, false);
    (void)poll(watched.data(), rests ? 1 : watched.size(),  // Ignored: it is looked at again.
               rests ? kBackOffMillis : kRecountMillis);
    heartbeat_.Beat();
    std::uint64_t woken = 0;
    (void)!read(wake_.get(), &woken, sizeof woken);  // Ignored: it may not have been woken.
    for (std::size_t i = 1; i < watched.size(); ++i) {
      if (rests || watched[i].revents != 0) AcceptFrom(watched[i].fd, hand_over);
    }
    if (counted_->rest().count() <= 0) Recount();
  }
}

void Acceptor::AcceptFrom(int listener, const HandOver& hand_over) {
  for (int i = 0; i < kAcceptsMax && !stopping_; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    Descriptor connection(accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                                  SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) {
      Take(std::move(connection), PeerOf(address, size), listener, hand_over);
      continue;
    }
    if (LacksResources(errno)) {
      out_of_descriptors_ = true;
      TurnAway(listener);
      return;
    }
    // The others are of one connection, which broke before it was accepted.
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
  }
}

void Acceptor::Take(Descriptor connection, const std::string& address, int listener,
                    const HandOver& hand_over) {
  Refused why{};
  if (!HasRoom(address, why)) return CountRefused(why, address);
  const int on = 1;
  // gRPC sets this for connections that it accepts itself. Ignored: a slow one is one.
  (void)setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!connections_.Add(connection.get(), address)) return;
  counts_->SetOpen(connections_.count());
  hand_over(connection.Release(), listener);
}

bool Acceptor::HasRoom(const std::string& address, Refused& why) {
  const auto fits = [&] {
    thread_.AssertHeld();
    why = Refused::kConnections;
    if (connections_.count() >= options_.connections_max) return false;
    why = Refused::kPeer;
    return connections_.CountFrom(address) < options_.connections_per_peer_max;
  };
  if (fits()) return true;
  // It costs: a flood of connections that find no room is not to make it often.
  if (counted_->rest() <= std::chrono::milliseconds(kRecountMillis - kCountsApartMillis)) Recount();
  return fits();
}

void Acceptor::TurnAway(int listener) {
  reserve_.Close();
  for (int i = 0; i < kAcceptsMax; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const Descriptor connection(
        accept4(listener, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC));
    if (!connection) break;
    CountRefused(Refused::kDescriptors, PeerOf(address, size));
  }
  reserve_ = OpenReserve();
}

void Acceptor::CountRefused(Refused why, const std::string& address) {
  counts_->AddRefused(why);
  if (options_.on_refused) options_.on_refused(why, address);
}

void Acceptor::Recount() {
  connections_.Recount();
  counts_->SetOpen(connections_.count());
  counted_.emplace(std::chrono::milliseconds(kRecountMillis));
  if (!reserve_) reserve_ = OpenReserve();
}

}  // namespace onced
