#include "server/shard/waiters.h"

#include <algorithm>

namespace onced {
namespace {

std::pair<std::string, std::string> Plain(const RecordKey& key) {
  return {key.name_space, key.key};
}

}  // namespace

bool WaiterCount::TryAdd(const std::string& name_space, std::size_t max) {
  const MutexLock lock(mutex_);
  const auto found = by_namespace_.find(name_space);
  const std::size_t have = found == by_namespace_.end() ? 0 : found->second;
  if (have >= max) return false;
  by_namespace_[name_space] = have + 1;
  ++total_;
  return true;
}

void WaiterCount::Remove(const std::string& name_space) {
  const MutexLock lock(mutex_);
  const auto found = by_namespace_.find(name_space);
  --total_;
  if (--found->second == 0) by_namespace_.erase(found);
}

std::size_t WaiterCount::total() const {
  const MutexLock lock(mutex_);
  return total_;
}

Waiters::~Waiters() {
  for (const auto& [id, waiter] : waiters_) count_.Remove(waiter.request.key.name_space);
}

bool Waiters::Park(Waiter& waiter, absl::Time lease_end) {
  const RecordKey& key = waiter.request.key;
  const Policy& policy = *waiter.request.policy;
  const auto queue = by_key_.find(key);
  const std::size_t in_queue = queue == by_key_.end() ? 0 : queue->second.ids.size();
  if (in_queue >= policy.waiters_per_key_max) return false;
  if (!count_.TryAdd(key.name_space, policy.waiters_max)) return false;

  waiter.request.slot.Release();  // What is parked has these bounds instead.
  const RequestId id = waiter.request.id;
  Queue& joined = by_key_[key];
  if (joined.ids.empty()) {
    joined.lease_end = lease_end;
    lease_timers_.emplace(lease_end, Plain(key));
  }
  joined.ids.push_back(id);
  wait_timers_.emplace(waiter.wait_until, id);
  waiters_.emplace(id, std::move(waiter));
  return true;
}

std::optional<Waiter> Waiters::Take(RequestId id) {
  const auto found = waiters_.find(id);
  if (found == waiters_.end()) return std::nullopt;
  Waiter waiter = std::move(found->second);
  waiters_.erase(found);
  wait_timers_.erase({waiter.wait_until, id});
  const RecordKey& key = waiter.request.key;
  const auto queue = by_key_.find(key);
  std::erase(queue->second.ids, id);
  if (queue->second.ids.empty()) {
    lease_timers_.erase({queue->second.lease_end, Plain(key)});
    by_key_.erase(queue);
  }
  count_.Remove(key.name_space);
  return waiter;
}

std::vector<RequestId> Waiters::Of(const RecordKey& key) const {
  const auto queue = by_key_.find(key);
  if (queue == by_key_.end()) return {};
  return {queue->second.ids.begin(), queue->second.ids.end()};
}

const Waiter* Waiters::Find(RequestId id) const {
  const auto found = waiters_.find(id);
  return found == waiters_.end() ? nullptr : &found->second;
}

std::vector<RequestId> Waiters::All() const {
  std::vector<RequestId> ids;
  for (const auto& [until, id] : wait_timers_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void Waiters::SetLeaseEnd(const RecordKey& key, absl::Time lease_end) {
  const auto queue = by_key_.find(key);
  if (queue == by_key_.end()) return;
  lease_timers_.erase({queue->second.lease_end, Plain(key)});
  queue->second.lease_end = lease_end;
  lease_timers_.emplace(lease_end, Plain(key));
}

std::vector<RecordKey> Waiters::Lapsed(absl::Time now) const {
  std::vector<RecordKey> keys;
  for (const auto& [lease_end, key] : lease_timers_) {
    if (lease_end > now) break;
    keys.push_back({key.first, key.second});
  }
  return keys;
}

std::vector<RequestId> Waiters::Over(absl::Time now) const {
  std::vector<RequestId> ids;
  for (const auto& [until, id] : wait_timers_) {
    if (until > now) break;
    ids.push_back(id);
  }
  return ids;
}

absl::Time Waiters::NextTimer() const {
  absl::Time next = absl::InfiniteFuture();
  if (!wait_timers_.empty()) next = std::min(next, wait_timers_.begin()->first);
  if (!lease_timers_.empty()) next = std::min(next, lease_timers_.begin()->first);
  return next;
}

}  // namespace onced
