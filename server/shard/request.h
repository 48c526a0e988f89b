// What travels to a shard and back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "server/ledger/operation.h"
#include "server/ledger/policy.h"
#include "server/ledger/record.h"
#include "server/storage/unit_of_work.h"

namespace onced {

// Names one submitted request, for as long as the process lives. Zero: none.
struct RequestId {
  std::uint64_t value = 0;
  auto operator<=>(const RequestId&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, RequestId id) {
    return H::combine(std::move(h), id.value);
  }
};

struct Answer {
  Reply reply;
  absl::Time server_time;  // By which it was judged.
  absl::Duration waited;   // While parked.
};

// Called exactly once, on any thread; must neither block nor call back into
// the shards.
using Answerer = absl::AnyInvocable<void(Answer) &&>;

// One of the operations that a namespace may have in flight; an empty one of a
// namespace that may have any number.
// Threads: one at a time.
class ConcurrencySlot {
 public:
  ConcurrencySlot() = default;
  // Takes one.
  explicit ConcurrencySlot(std::shared_ptr<std::atomic<std::size_t>> taken)
      : taken_(std::move(taken)) {
    taken_->fetch_add(1);
  }
  ConcurrencySlot(ConcurrencySlot&& other) noexcept : taken_(std::move(other.taken_)) {}
  ConcurrencySlot& operator=(ConcurrencySlot&& other) noexcept {
    Release();
    taken_ = std::move(other.taken_);
    return *this;
  }
  ~ConcurrencySlot() { Release(); }

  void Release() {
    if (taken_ != nullptr) taken_->fetch_sub(1);
    taken_.reset();
  }

 private:
  // Shared with whoever counts, who may go before the last answer.
  std::shared_ptr<std::atomic<std::size_t>> taken_;
};

struct Request {
  RecordKey key;
  Operation operation;
  const Policy* policy = nullptr;  // Outlives the request.
  // The caller's, by the server's clock. Past it, nothing is begun any more:
  // but for a Commit, whose effect has already happened.
  absl::Time deadline = absl::InfiniteFuture();
  Answerer answer;
  ConcurrencySlot slot;  // Held until it is answered or parked.

  // ---- Filled in by ShardSet ----
  RequestId id;
  ShardId shard;
  absl::Time queued_at;
  std::uint32_t queue_part = 0;  // That its namespace's requests are counted in.
};

// Refused by a drain or a full queue; the others settle what was granted.
inline bool IsReserve(const Request& request) {
  return std::holds_alternative<ReserveOp>(request.operation);
}
// May be parked.
inline bool MayWait(const Request& request) {
  const auto* reserve = std::get_if<ReserveOp>(&request.operation);
  return reserve != nullptr && reserve->wait_timeout > absl::ZeroDuration();
}
// Has queue room of its own, and is never refused while the store works.
inline bool Settles(const Request& request) {
  return !IsReserve(request) && !std::holds_alternative<InspectOp>(request.operation);
}

}  // namespace onced
