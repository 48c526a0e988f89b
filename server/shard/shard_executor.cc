#include "server/shard/shard_executor.h"

#include <algorithm>
#include <chrono>
#include <utility>

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

void ShardExecutor::Submit(std::vector<Request> requests) {
  const absl::Time now = clock_.Now();
  std::vector<std::pair<Answerer, Refusal>> refused;
  bool was_empty = false;
  {
    const MutexLock lock(mutex_);
    was_empty = mailbox_.requests.empty();
    for (Request& request : requests) {
      Refusal why{};
      if (Admit(request, why)) {
        request.queued_at = now;
        mailbox_.requests.push_back(std::move(request));
      } else {
        refused.emplace_back(std::move(request.answer), why);
      }
    }
  }
  if (was_empty) work_.NotifyOne();
  for (auto& [answer, why] : refused) {
    std::move(answer)({Refused{why, std::nullopt, std::nullopt}, now, {}});
  }
}

bool ShardExecutor::Admit(const Request& request, Refusal& why) {
  if (mode_ != Mode::kServing && IsReserve(request)) {
    why = Refusal::kDraining;
    return false;
  }
  std::size_t& taken = Settles(request) ? settling_ : queued_;
  const std::size_t room = Settles(request) ? limits_.settle_queue_max : limits_.queue_max;
  if (taken >= room) {
    why = Refusal::kQueueFull;
    return false;
  }
  ++taken;
  return true;
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
  return queued_ + settling_;
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

bool ShardExecutor::AwaitWork(absl::Time next_timer) {
  const MutexLock lock(mutex_);
  while (mailbox_.requests.empty() && mailbox_.cancelled.empty()) {
    if (mode_ != Mode::kServing && !drain_seen_) return true;  // To end all waits.
    if (mode_ == Mode::kStopping) return false;
    const absl::Duration rest = next_timer - clock_.Now();
    if (rest <= absl::ZeroDuration()) return true;
    work_.WaitFor(mutex_, absl::ToChronoNanoseconds(std::min(rest, kSleepMax)));
  }
  return true;
}

void ShardExecutor::TakeDrain(Drain& drain) {
  const MutexLock lock(mutex_);
  std::swap(drain, mailbox_);
  drain.draining = mode_ != Mode::kServing;
  drain_seen_ = drain.draining;
  queued_ = settling_ = 0;
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
