// Memory for calls: what they may hold together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"

namespace onced {

// What bytes are for. What settles a reservation has room of its own: a quarter of all
// that there is.
enum class BytesFor : std::uint8_t { kNewWork, kSettling };

// Of requests from when they have come until they are answered, and of answers until
// their readers have taken them.
//
// Threads: any.
class ByteBudget {
 public:
  explicit ByteBudget(std::size_t max) : max_(max) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // What one call takes beside its message: gRPC's and our objects.
  static constexpr std::size_t kCallBytes = 4 << 10;
  // What an operation of several takes beside its bytes in the message.
  static constexpr std::size_t kOperationBytes = 512;
  // An answer of no more than that is sent whatever room there is: an error in its place
  // would not be much smaller.
  static constexpr std::size_t kSmallBytes = 4 << 10;

  // Of the answers to one namespace that are over kSmallBytes: half of what new work may
  // have. So who doesn't read them fills no more than that.
  std::size_t namespace_max() const { return max(BytesFor::kNewWork) / 2; }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  std::size_t max(BytesFor use) const {
    return use == BytesFor::kSettling ? max_ : max_ - max_ / 4;
  }

 private:
  friend class ByteShare;

  // As much of `bytes` as there is room for, all or none of it where it is `whole`.
  std::size_t Take(std::size_t bytes, BytesFor use, bool whole) {
    const std::size_t most = max(use);
    std::size_t used = used_.load(std::memory_order_relaxed);
    for (;;) {
      const std::size_t room = most - std::min(used, most);
      const std::size_t taken = std::min(bytes, room);
      if (taken == 0 || (whole && taken < bytes)) return 0;
      if (used_.compare_exchange_weak(used, used + taken, std::memory_order_relaxed)) return taken;
    }
  }

  // As much as the namespace may still have.
  std::size_t TakeFor(const std::string& name_space, std::size_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    std::size_t& used = by_namespace_[name_space];
    const std::size_t taken = std::min(bytes, namespace_max() - used);
    used += taken;
    if (used == 0) by_namespace_.erase(name_space);
    return taken;
  }
  void GiveBackFor(const std::string& name_space, std::size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (bytes == 0) return;
    const MutexLock lock(mutex_);
    const auto found = by_namespace_.find(name_space);
    found->second -= bytes;
    if (found->second == 0) by_namespace_.erase(found);
  }

  const std::size_t max_;
  std::atomic<std::size_t> used_{0};

  Mutex mutex_;
  absl::flat_hash_map<std::string, std::size_t> by_namespace_ ABSL_GUARDED_BY(mutex_);
};

// What one call has taken; given back at its end.
//
// Threads:  one at a time.
// Lifetime: `budget` outlives it.
class ByteShare {
 public:
  explicit ByteShare(ByteBudget& budget) : budget_(budget) {}
  ~ByteShare() {
    budget_.used_.fetch_sub(bytes_, std::memory_order_relaxed);
    budget_.GiveBackFor(name_space_, of_namespace_);
  }
  ByteShare(const ByteShare&) = delete;
  ByteShare& operator=(const ByteShare&) = delete;

  std::size_t bytes() const { return bytes_; }
  // False, and nothing is taken, if there is no room.
  [[nodiscard]] bool TryTake(std::size_t bytes, BytesFor use) {
    const std::size_t taken = budget_.Take(bytes, use, true);
    bytes_ += taken;
    return taken == bytes;
  }
  // Of an answer to what was asked of a namespace, as many as there is room for; how many.
  // Once; `use` is that of the question.
  std::size_t TakeUpTo(std::size_t bytes, BytesFor use, const std::string& name_space) {
    name_space_ = name_space;
    of_namespace_ = budget_.TakeFor(name_space, bytes);
    const std::size_t taken = budget_.Take(of_namespace_, use, false);
    budget_.GiveBackFor(name_space, of_namespace_ - taken);
    of_namespace_ = taken;
    bytes_ += taken;
    return taken;
  }
  // From now on it has this many, whether or not there is room: what must be sent is.
  void Set(std::size_t bytes) {
    budget_.used_.fetch_add(bytes - bytes_, std::memory_order_relaxed);  // Modulo 2^64.
    bytes_ = bytes;
  }

 private:
  ByteBudget& budget_;
  std::size_t bytes_ = 0;
  std::string name_space_;
  std::size_t of_namespace_ = 0;
};

}  // namespace onced
