#include "server/shard/shard_executor.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "server/base/thread_name.h"
#include "server/base/yield_while_growing.h"

namespace onced {
namespace {

// The longest the thread sleeps at a stretch: bounds how late a timer is after
// the machine was suspended.
constexpr absl::Duration kSleepMax = absl::Seconds(30);

constexpr int kYieldsMax = 4;

}  // namespace

ShardExecutor::ShardExecutor(Limits limits, ShardGroup& group, const Clock& clock, Store& store,
                             Telemetry& telemetry)
    : limits_(limits),
      clock_(clock),
      telemetry_(telemetry),
      heartbeat_(limits.patience),
      group_(group),
      marked_clock_(clock, store),
      runner_([this] { Run(); }) {}

ShardExecutor::~ShardExecutor() {
  {
    const MutexLock lock(mutex_);
    mode_ = Mode::kStopping;
  }
  work_.NotifyOne();
  runner_.join();
}

std::vector<RequestId> ShardExecutor::Submit(std::vector<Request> requests) {
  const absl::Time now = clock_.Now();
  for (Request& request : requests) request.queue_part = PartOf(request.key.name_space);
  std::vector<std::pair<Answerer, Refusal>> refused;
  std::vector<RequestId> refused_ids;
  bool was_empty = false;
  {
    const MutexLock lock(mutex_);
    was_empty = waiting() == 0;
    for (Request& request : requests) {
      Refusal why{};
      if (Admit(request, now, why)) {
        request.queued_at = now;
        mailbox_.requests.push_back(std::move(request));
      } else {
        request.slot.Release();
        refused.emplace_back(std::move(request.answer), why);
        refused_ids.push_back(request.id);
      }
    }
  }
  if (was_empty) work_.NotifyOne();
  for (auto& [answer, why] : refused) {
    std::move(answer)({Refused{why}, now, {}});
  }
  return refused_ids;
}

std::uint32_t ShardExecutor::PartOf(const std::string& name_space) {
  return static_cast<std::uint32_t>(absl::Hash<std::string>()(name_space) % kParts);
}

bool ShardExecutor::Admit(const Request& request, absl::Time now, Refusal& why) {
  if (mode_ != Mode::kServing && IsReserve(request)) {
    why = Refusal::kDraining;
    return false;
  }
  const bool settles = Settles(request);
  Queued& queued = settles ? settling_ : queued_;
  const std::size_t room = settles ? limits_.settle_queue_max : limits_.queue_max;
  const absl::Duration wait = settles ? absl::ZeroDuration() : WaitOfOldest(now);
  const bool full = queued.all >= room || wait > limits_.queue_wait_max;
  // A namespace that has filled its part alone is no reason to take all others' calls slowly.
  if (full && !settles) crowded_.store(true, std::memory_order_relaxed);
  const bool part_full = queued.parts[request.queue_part] >= PartOf(room);
  if (part_full && !settles) SetCrowded(request.queue_part, true);
  if (full || part_full || (wait > absl::ZeroDuration() && now + wait > request.deadline)) {
    why = Refusal::kQueueFull;
    return false;
  }
  ++queued.all;
  ++queued.parts[request.queue_part];
  return true;
}

absl::Duration ShardExecutor::WaitOfOldest(absl::Time now) const {
  if (limits_.queue_wait_max == absl::ZeroDuration() || waiting() == 0) return {};
  return now - mailbox_.requests[taken_].queued_at;
}

void ShardExecutor::Cancel(RequestId id) {
  {
    const MutexLock lock(mutex_);
    mailbox_.cancelled.push_back(id);
  }
  work_.NotifyOne();
}

void ShardExecutor::StartDraining() {
  {
    const MutexLock lock(mutex_);
    if (mode_ == Mode::kServing) mode_ = Mode::kDraining;
  }
  work_.NotifyOne();
}

std::size_t ShardExecutor::queue_depth() const {
  const MutexLock lock(mutex_);
  return queued_.all + settling_.all;
}

void ShardExecutor::Run() {
  thread_.Adopt();
  NameThisThread("executor");
  Drain drain;
  while (AwaitWork(group_.NextTimer())) {
    YieldWhileGrowing(kYieldsMax, [this] { return queue_depth(); });  // One wake-up less.
    TakeDrain(drain);
    Drain next;  // Takes the mailbox's place: with room for as many, or they'd be moved again.
    next.requests.reserve(drain.requests.size());
    Execute(std::exchange(drain, std::move(next)));
  }
}

bool ShardExecutor::Alive() {
  return heartbeat_.Alive([this] {
    { const MutexLock lock(mutex_); }  // It waits, or has not yet looked at its heart.
    work_.NotifyOne();
  });
}

bool ShardExecutor::AwaitWork(absl::Time next_timer) {
  const MutexLock lock(mutex_);
  heartbeat_.Beat();
  while (waiting() == 0 && mailbox_.cancelled.empty()) {
    if (mode_ != Mode::kServing && !drain_seen_) return true;  // To end all waits.
    if (mode_ == Mode::kStopping) return false;
    const absl::Duration rest = next_timer - clock_.Now();
    if (rest <= absl::ZeroDuration()) return true;
    work_.WaitFor(mutex_, absl::ToChronoNanoseconds(std::min(rest, kSleepMax)));
    heartbeat_.Beat();
  }
  return true;
}

void ShardExecutor::TakeDrain(Drain& drain) {
  const MutexLock lock(mutex_);
  std::swap(drain.cancelled, mailbox_.cancelled);
  if (taken_ == 0 && waiting() <= limits_.drain_max) {
    std::swap(drain.requests, mailbox_.requests);
  } else {
    TakeFirst(std::min(waiting(), limits_.drain_max), drain.requests);
    if (!drain.cancelled.empty()) TakeCancelled(drain);
  }
  for (const Request& request : drain.requests) {
    const bool settles = Settles(request);
    Queued& queued = settles ? settling_ : queued_;
    --queued.all;
    const std::size_t rest = --queued.parts[request.queue_part];
    // As soon as it is half empty, so that it doesn't run empty.
    if (!settles && rest <= PartOf(limits_.queue_max) / 2) SetCrowded(request.queue_part, false);
  }
  if (queued_.all <= PartOf(limits_.queue_max) / 2)
    crowded_.store(false, std::memory_order_relaxed);
  drain.draining = mode_ != Mode::kServing;
  drain_seen_ = drain.draining;
}

void ShardExecutor::SetCrowded(std::uint32_t part, bool crowded) {
  if (crowded_parts_[part].load(std::memory_order_relaxed) == crowded) return;
  crowded_parts_[part].store(crowded, std::memory_order_relaxed);
  crowded_count_.fetch_add(crowded ? 1 : -1, std::memory_order_relaxed);
}

void ShardExecutor::TakeFirst(std::size_t count, std::vector<Request>& to) {
  std::vector<Request>& all = mailbox_.requests;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(taken_);
  std::move(first, first + static_cast<std::ptrdiff_t>(count), std::back_inserter(to));
  taken_ += count;
  // So seldom that each request is moved once more on average.
  if (taken_ < all.size() / 2) return;
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
}

void ShardExecutor::TakeCancelled(Drain& to) {
  const absl::flat_hash_set<RequestId> gone(to.cancelled.begin(), to.cancelled.end());
  std::vector<Request>& all = mailbox_.requests;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(taken_);
  all.erase(std::remove_if(first, all.end(),
                           [&](Request& request) {
                             if (Settles(request) || !gone.contains(request.id)) return false;
                             to.requests.push_back(std::move(request));
                             return true;
                           }),
            all.end());
}

void ShardExecutor::Execute(Drain drain) {
  const absl::StatusOr<absl::Time> now = marked_clock_.Now();
  if (!now.ok()) {
    telemetry_.StoreFailed(now.status().message());
    return group_.Refuse(std::move(drain), clock_.Now(), Refusal::kStoreFailed);
  }
  if (!drain.requests.empty()) {
    telemetry_.Drained(drain.requests.size(), *now - drain.requests.front().queued_at);
  }
  group_.Execute(std::move(drain), *now);
}

}  // namespace onced
