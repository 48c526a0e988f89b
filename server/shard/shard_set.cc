#include "server/shard/shard_set.h"

#include <algorithm>
#include <utility>

namespace onced {

ShardSet::Executor::Executor(const Options& options, Store& store, const Clock& clock,
                             Telemetry& telemetry, WaiterCount& waiter_count)
    : group(store, random, waiter_count, telemetry),
      thread(options.limits, group, clock, store, telemetry) {}

ShardSet::ShardSet(const Options& options, Store& store, const Clock& clock, Telemetry& telemetry)
    : clock_(clock), map_(store.identity()) {
  const std::size_t count = std::clamp<std::size_t>(options.executors, 1, store.identity().shards);
  for (std::size_t i = 0; i < count; ++i) {
    executors_.push_back(
        std::make_unique<Executor>(options, store, clock, telemetry, waiter_count_));
  }
}

ShardSet::~ShardSet() = default;

std::size_t ShardSet::Route(Request& request) {
  request.id = {last_id_.fetch_add(1, std::memory_order_relaxed) + 1};
  request.shard = map_.ShardOf(request.key);
  return request.shard.value % executors_.size();
}

ShardSet::Ticket ShardSet::Submit(Request request) {
  const std::size_t executor = Route(request);
  Ticket ticket{executor, request.id};
  std::vector<Request> one;
  one.push_back(std::move(request));
  if (!executors_[executor]->thread.Submit(std::move(one)).empty()) ticket.id = {};
  return ticket;
}

std::vector<ShardSet::Ticket> ShardSet::Submit(std::vector<Request> requests) {
  std::vector<Ticket> tickets;
  std::vector<std::vector<Request>> by_executor(executors_.size());
  for (Request& request : requests) {
    const std::size_t executor = Route(request);
    if (MayWait(request)) tickets.push_back({executor, request.id});
    by_executor[executor].push_back(std::move(request));
  }
  for (std::size_t i = 0; i < by_executor.size(); ++i) {
    if (by_executor[i].empty()) continue;
    for (const RequestId refused : executors_[i]->thread.Submit(std::move(by_executor[i]))) {
      std::erase_if(tickets, [&](const Ticket& ticket) { return ticket.id == refused; });
    }
  }
  return tickets;
}

void ShardSet::Cancel(Ticket ticket) {
  if (ticket.id != RequestId()) executors_[ticket.executor]->thread.Cancel(ticket.id);
}

void ShardSet::StartDraining() {
  for (const auto& executor : executors_) executor->thread.StartDraining();
}

bool ShardSet::Alive() {
  return std::all_of(executors_.begin(), executors_.end(),
                     [](const auto& executor) { return executor->thread.Alive(); });
}

bool ShardSet::Crowded() const {
  return std::any_of(executors_.begin(), executors_.end(),
                     [](const auto& executor) { return executor->thread.crowded(); });
}

bool ShardSet::PartlyCrowded() const {
  return std::any_of(executors_.begin(), executors_.end(),
                     [](const auto& executor) { return executor->thread.partly_crowded(); });
}

bool ShardSet::Crowded(const std::string& name_space) const {
  return std::any_of(executors_.begin(), executors_.end(), [&](const auto& executor) {
    return executor->thread.crowded() || executor->thread.crowded(name_space);
  });
}

std::size_t ShardSet::queue_depth(std::size_t executor) const {
  return executors_[executor]->thread.queue_depth();
}

}  // namespace onced
