// How many calls of each connection may be parked.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"

namespace onced {

// Parked calls take at most half of a connection's streams, so that the
// holder's Commit gets through.
// Threads: any.
class ConnectionWaits {
 public:
  explicit ConnectionWaits(std::size_t max) : max_(max) {}

  // False, and nothing is counted, if the connection of `peer` has its share.
  bool TryAdd(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = by_peer_.find(peer);
    const std::size_t have = found == by_peer_.end() ? 0 : found->second;
    if (have >= max_) return false;
    by_peer_[peer] = have + 1;
    return true;
  }
  void Remove(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = by_peer_.find(peer);
    if (--found->second == 0) by_peer_.erase(found);
  }

 private:
  // Constant after construction.
  const std::size_t max_;

  // Shared.
  Mutex mutex_;
  absl::flat_hash_map<std::string, std::size_t> by_peer_ ABSL_GUARDED_BY(mutex_);
};

// The share of one connection.
// Threads:  any.
// Lifetime: `all` outlives it.
class ConnectionShare {
 public:
  ConnectionShare(ConnectionWaits& all, std::string peer) : all_(all), peer_(std::move(peer)) {}
  bool TryAdd() { return all_.TryAdd(peer_); }
  void Remove() { all_.Remove(peer_); }

 private:
  ConnectionWaits& all_;
  const std::string peer_;
};

}  // namespace onced
