// Listens, and takes connections in.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/base/heartbeat.h"
#include "server/base/mutex.h"
#include "server/base/thread_role.h"

namespace onced {

// A descriptor that this object owns.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release();
  void Close();

 private:
  int fd_;
};

// What an acceptor has counted.
// Threads: any.
class ConnectionCounts {
 public:
  enum class Refused : std::uint8_t { kConnections, kPeer, kDescriptors };
  static constexpr std::size_t kCauses = 3;

  // That are open, as of a second ago at most.
  std::size_t open() const { return open_.load(std::memory_order_relaxed); }
  void SetOpen(std::size_t count) { open_.store(count, std::memory_order_relaxed); }
  std::uint64_t refused(Refused why) const {
    return refused_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
  }
  void AddRefused(Refused why) {
    refused_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::size_t> open_{0};
  std::atomic<std::uint64_t> refused_[kCauses]{};
};

// The connections that were handed over, of which one may have been closed at any
// time, and its number given to something else.
//
// Threads:  one.
class OpenConnections {
 public:
  // One more, from that address. False: what `fd` is can't be found out.
  bool Add(int fd, const std::string& address);
  // Forgets those that were closed.
  void Recount();
  std::size_t count() const { return open_.size(); }
  std::size_t CountFrom(const std::string& address) const;

 private:
  struct One {
    ino_t inode;  // The kernel gives each socket one of its own.
    std::string address;
  };
  absl::flat_hash_map<int, One> open_;
  absl::flat_hash_map<std::string, std::size_t> by_address_;
};

// gRPC's own listener never accepts again once descriptors have run out, and knows no
// bound: see docs/decisions/0020-our-own-acceptor.md.
//
// Operation: accepts on all addresses that a name stands for, and hands the connections
//            over. Those over a bound are closed at once. Without descriptors it
//            goes on closing what comes, and takes connections in again as soon as
//            there are some.
// Threads:   one of its own, on which it calls the functions in Options and
//            Start(); the functions here from any.
// Lifetime:  Stop(), or the destructor, comes before the end of what takes the
//            connections.
// Limits:    connections_max, connections_per_peer_max: the latter by address.
class Acceptor {
 public:
  using Refused = ConnectionCounts::Refused;

  struct Options {
    const char* setting = "";  // That names the address, for the error.
    std::string address;       // host:port; port 0 takes any free one.
    std::size_t connections_max = 10'000;
    std::size_t connections_per_peer_max = 10'000;
    // A connection was closed at once, of which the address may be known.
    std::function<void(Refused why, const std::string& address)> on_refused;
    std::chrono::nanoseconds patience = Heartbeat::kPatience;  // For an answer to Alive().
  };
  // Owns `fd` from then on.
  using HandOver = std::function<void(int fd, int listener_fd)>;

  // Listens, and accepts nothing yet. One clear line if the address can't be had.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(Options options);
  ~Acceptor() { Stop(); }

  int port() const { return port_; }
  void Start(HandOver hand_over);
  // Accepts nothing any more; the sockets are closed.
  void Stop();

  // Shared: whoever shows them may do so after the acceptor has gone.
  std::shared_ptr<const ConnectionCounts> counts() const { return counts_; }
  // Whether it turns.
  bool Alive() {
    return heartbeat_.Alive([this] { Wake(); });
  }

 private:
  explicit Acceptor(Options options)
      : options_(std::move(options)), heartbeat_(options_.patience) {}
  absl::Status Open();
  void Wake() const;
  void Run(const HandOver& hand_over);
  // Takes in what has come to one listener.
  void AcceptFrom(int listener, const HandOver& hand_over) RUNS_ON(thread_);
  void Take(Descriptor connection, const std::string& address, int listener,
            const HandOver& hand_over) RUNS_ON(thread_);
  // Whether one more may come from there.
  bool HasRoom(const std::string& address, Refused& why) RUNS_ON(thread_);
  // There are no descriptors: takes one connection in by the one kept in reserve, and
  // closes it.
  void TurnAway(int listener) RUNS_ON(thread_);
  void CountRefused(Refused why, const std::string& address) RUNS_ON(thread_);
  void Recount() RUNS_ON(thread_);

  // Constant once it listens.
  const Options options_;
  std::vector<Descriptor> listeners_;
  Descriptor wake_;
  int port_ = 0;

  Descriptor reserve_;  // Opened before there is a lack; then the thread's.

  // Shared.
  std::atomic<bool> stopping_{false};
  const std::shared_ptr<ConnectionCounts> counts_ = std::make_shared<ConnectionCounts>();
  Heartbeat heartbeat_;

  // Its own thread only.
  ThreadRole thread_;
  OpenConnections connections_ OWNED_BY(thread_);
  bool out_of_descriptors_ OWNED_BY(thread_) = false;
  std::optional<Countdown> counted_ OWNED_BY(thread_);  // Until it is time for the next count.

  std::thread runner_;  // Last: uses what is above.
};

}  // namespace onced
