#include "server/rpc/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"

namespace onced {
namespace {

using Refused = Acceptor::Refused;

Descriptor NewSocket() { return Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

void ConnectTo(const Descriptor& client, int port, const char* from = "127.0.0.1") {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, from, &address.sin_addr);
  ASSERT_EQ(bind(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}
Descriptor Connected(int port, const char* from = "127.0.0.1") {
  Descriptor client = NewSocket();
  ConnectTo(client, port, from);
  return client;
}
// Waits for the other side to close it.
bool IsClosed(const Descriptor& client) {
  char byte = 0;
  return recv(client.get(), &byte, 1, 0) <= 0;
}

// Takes connections, and counts what is refused.
class AcceptorTest : public testing::Test {
 protected:
  void Start(Acceptor::Options options) {
    options.setting = "listen";
    if (options.address.empty()) options.address = "127.0.0.1:0";
    options.on_refused = [this](Refused why, const std::string& address) {
      const MutexLock lock(mutex_);
      ++refused_[why];
      last_address_ = address;
      changed_.NotifyAll();
    };
    auto acceptor = Acceptor::Listen(std::move(options));
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    acceptor_->Start([this](int fd, int listener) {
      EXPECT_GE(listener, 0);
      const MutexLock lock(mutex_);
      taken_.emplace_back(fd);
      changed_.NotifyAll();
    });
  }
  int port() const { return acceptor_->port(); }
  void AwaitTaken(std::size_t count) {
    const MutexLock lock(mutex_);
    while (taken_.size() < count) changed_.Wait(mutex_);
  }
  void AwaitRefused(Refused why, int count) {
    const MutexLock lock(mutex_);
    while (refused_[why] < count) changed_.Wait(mutex_);
  }
  std::size_t taken() {
    const MutexLock lock(mutex_);
    return taken_.size();
  }
  // As gRPC does, without telling.
  void CloseFirstTaken() {
    const MutexLock lock(mutex_);
    taken_.erase(taken_.begin());
  }
  Descriptor& Taken(std::size_t i) {
    const MutexLock lock(mutex_);
    return taken_[i];
  }
  // Connects until one is taken in: what was closed is missed after a while.
  Descriptor ConnectUntilTaken(const char* from = "127.0.0.1") {
    const std::size_t before = taken();
    for (;;) {
      Descriptor client = Connected(port(), from);
      const MutexLock lock(mutex_);
      const std::size_t refused = RefusedCount();
      while (taken_.size() == before && RefusedCount() == refused) {
        changed_.WaitFor(mutex_, std::chrono::milliseconds(20));
        break;
      }
      if (taken_.size() > before) return client;
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<Descriptor> taken_ ABSL_GUARDED_BY(mutex_);
  std::map<Refused, int> refused_ ABSL_GUARDED_BY(mutex_);
  std::string last_address_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Acceptor> acceptor_;  // Last.

 private:
  std::size_t RefusedCount() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::size_t all = 0;
    for (const auto& [why, count] : refused_) all += static_cast<std::size_t>(count);
    return all;
  }
};

TEST_F(AcceptorTest, HandsOverConnectionsAsGrpcWantsThem) {
  Start({});
  const Descriptor client = Connected(port());
  AwaitTaken(1);
  const int fd = Taken(0).get();
  EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
  EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  int no_delay = 0;
  socklen_t size = sizeof no_delay;
  ASSERT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size), 0);
  EXPECT_NE(no_delay, 0);
  EXPECT_EQ(acceptor_->counts()->open(), 1u);
}

TEST_F(AcceptorTest, SaysInOneLineWhyItCanNotListen) {
  Start({});
  struct Row {
    std::string address;
    std::string why;
  };
  const Row rows[] = {
      {absl::StrCat("127.0.0.1:", port()), "Address already in use"},
      {"192.0.2.1:0", "Cannot assign requested address"},
      {"no.such.name.invalid:0", ""},
      {"127.0.0.1", "is not host:port"},
      {":7", "is not host:port"},
  };
  for (const Row& row : rows) {
    const auto acceptor = Acceptor::Listen({.setting = "listen", .address = row.address});
    ASSERT_FALSE(acceptor.ok()) << row.address;
    const std::string message(acceptor.status().message());
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_THAT(message, testing::StartsWith(
                             absl::StrCat("listen: can't listen on ", row.address, ": ", row.why)));
  }
}

TEST_F(AcceptorTest, ListensOnAllAddressesOfAName) {
  Start({.address = "localhost:0"});
  const Descriptor client = Connected(port());
  AwaitTaken(1);
  // Where the machine has IPv6, and its name service says so.
  addrinfo* found = nullptr;
  const addrinfo hints{.ai_family = AF_INET6, .ai_socktype = SOCK_STREAM};
  if (getaddrinfo("localhost", nullptr, &hints, &found) != 0) return;
  freeaddrinfo(found);
  const Descriptor v6(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_addr = in6addr_loopback;
  to.sin6_port = htons(static_cast<std::uint16_t>(port()));
  if (connect(v6.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0 &&
      errno == EADDRNOTAVAIL) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  AwaitTaken(2);
}

TEST_F(AcceptorTest, ClosesWhatIsOverItsBoundUntilAnotherHasGone) {
  Start({.connections_max = 2});
  const Descriptor first = Connected(port());
  const Descriptor second = Connected(port());
  AwaitTaken(2);
  const Descriptor third = Connected(port());
  EXPECT_TRUE(IsClosed(third));
  AwaitRefused(Refused::kConnections, 1);
  EXPECT_EQ(taken(), 2u);
  EXPECT_GE(acceptor_->counts()->refused(Refused::kConnections), 1u);
  CloseFirstTaken();
  const Descriptor fourth = ConnectUntilTaken();
  EXPECT_EQ(acceptor_->counts()->open(), 2u);
}

// The number of a closed one is given to something else, which is no connection.
TEST_F(AcceptorTest, IsNotDeceivedByANumberThatIsUsedAgain) {
  Start({.connections_max = 1});
  const Descriptor first = Connected(port());
  AwaitTaken(1);
  const int number = Taken(0).get();
  const Descriptor other = NewSocket();
  ASSERT_EQ(dup2(other.get(), number), number);
  const Descriptor second = ConnectUntilTaken();
}

TEST_F(AcceptorTest, OnePeerDoesNotGetAll) {
  Start({.connections_max = 3, .connections_per_peer_max = 2});
  const Descriptor first = Connected(port());
  const Descriptor second = Connected(port());
  AwaitTaken(2);
  const Descriptor third = Connected(port());
  EXPECT_TRUE(IsClosed(third));
  AwaitRefused(Refused::kPeer, 1);
  {
    const MutexLock lock(mutex_);
    EXPECT_EQ(last_address_, "127.0.0.1");
  }
  const Descriptor other = Connected(port(), "127.0.0.2");
  AwaitTaken(3);
}

// As in gRPC's listener, which never accepts again then.
TEST_F(AcceptorTest, OutlivesTheLackOfDescriptors) {
  Start({});
  // It works already when it gets into need; and so do sanitizers, who need descriptors too.
  const Descriptor before = Connected(port());
  AwaitTaken(1);
  const Descriptor client = NewSocket();
  const Descriptor last = NewSocket();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = static_cast<rlim_t>(last.get()) + 1;
  std::vector<Descriptor> fill;  // The numbers that are free below.
  for (;;) {
    Descriptor one = NewSocket();
    if (one.get() > last.get()) break;
    fill.push_back(std::move(one));
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  ConnectTo(client, port());
  EXPECT_TRUE(IsClosed(client)) << "taken in by the one in reserve, and closed";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  AwaitRefused(Refused::kDescriptors, 1);
  // Not before it has looked whether others wait to be turned away is one taken in.
  const Descriptor next = ConnectUntilTaken();
}

TEST_F(AcceptorTest, TurnsUntilItIsStoppedAndThenListensNoMore) {
  Start({});
  EXPECT_TRUE(acceptor_->Alive());
  acceptor_->Stop();
  const Descriptor client = NewSocket();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(port()));
  EXPECT_NE(connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
}

}  // namespace
}  // namespace onced
