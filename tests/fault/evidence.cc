#include "tests/fault/evidence.h"

#include <algorithm>

namespace onced::fault {
namespace {

struct Timed {
  Position position;
  const Call* call;
};

// Those with a time, by the position that `Where` gives.
template <typename Where>
std::vector<Timed> TimedBy(const Recording& run, const Where& where) {
  std::vector<Timed> timed;
  for (const Call& call : run.calls) {
    if (TimeOf(call) != 0) timed.push_back({where(call), &call});
  }
  std::sort(timed.begin(), timed.end(),
            [](const Timed& a, const Timed& b) { return a.position < b.position; });
  return timed;
}

// At each index, the call with the latest time of those up to it.
std::vector<const Call*> LatestUpTo(const std::vector<Timed>& timed) {
  std::vector<const Call*> latest;
  for (const Timed& one : timed) {
    const bool later = latest.empty() || TimeOf(*one.call) > TimeOf(*latest.back());
    latest.push_back(later ? one.call : latest.back());
  }
  return latest;
}
// At each index, the earliest time from it on.
std::vector<std::int64_t> EarliestFrom(const std::vector<Timed>& timed) {
  std::vector<std::int64_t> earliest(timed.size());
  std::int64_t time = INT64_MAX;
  for (std::size_t i = timed.size(); i-- > 0;) {
    earliest[i] = time = std::min(time, TimeOf(*timed[i].call));
  }
  return earliest;
}

class Clockwork {
 public:
  explicit Clockwork(const Recording& run)
      : by_answer_(TimedBy(run, [](const Call& call) { return call.answered; })),
        by_sending_(TimedBy(run, [](const Call& call) { return call.sent; })),
        latest_(LatestUpTo(by_answer_)),
        earliest_(EarliestFrom(by_sending_)) {}

  // The latest of the calls that were answered before `position`; null: none.
  const Call* LatestBefore(Position position) const {
    const auto after =
        std::lower_bound(by_answer_.begin(), by_answer_.end(), position,
                         [](const Timed& timed, Position bound) { return timed.position < bound; });
    return after == by_answer_.begin()
               ? nullptr
               : latest_[static_cast<std::size_t>(after - by_answer_.begin()) - 1];
  }
  // The earliest time of the calls that were sent after `position`.
  std::int64_t EarliestAfter(Position position) const {
    const auto after =
        std::upper_bound(by_sending_.begin(), by_sending_.end(), position,
                         [](Position bound, const Timed& timed) { return bound < timed.position; });
    return after == by_sending_.end()
               ? INT64_MAX
               : earliest_[static_cast<std::size_t>(after - by_sending_.begin())];
  }

 private:
  const std::vector<Timed> by_answer_, by_sending_;
  const std::vector<const Call*> latest_;
  const std::vector<std::int64_t> earliest_;
};

Position EndOf(const Call& call, const std::vector<Life>& lives) {
  if (Judged(call)) return call.answered;
  for (const Life& life : lives) {
    if (life.down > call.answered) return life.down;
  }
  return kNever;
}

// It was sent and given up while there was no server.
bool HadNoServer(const Call& call, const std::vector<Life>& lives) {
  return std::none_of(lives.begin(), lives.end(), [&](const Life& life) {
    return life.up < call.answered && call.sent < life.down;
  });
}

}  // namespace

std::int64_t TimeOf(const Call& call) {
  if (!Judged(call)) return 0;
  if (call.answer.server_time != 0) return call.answer.server_time;
  const bool now = call.answer.said == Said::kCommitted && !call.answer.already;
  return now ? call.answer.commit_time : 0;
}

bool Before(const Call& a, const Call& b) {
  if (a.answered < b.sent) return true;
  return TimeOf(a) != 0 && TimeOf(b) != 0 && TimeOf(a) < TimeOf(b);
}

std::vector<Event> EventsOf(const Recording& run) {
  const Clockwork clockwork(run);
  std::vector<Event> events;
  for (const Call& call : run.calls) {
    if (Refused(call) || (MayBeDone(call) && HadNoServer(call, run.lives))) continue;
    Event event{.call = &call, .end = EndOf(call, run.lives)};
    if (const std::int64_t time = TimeOf(call); time != 0) {
      event.when = {time, time};
    } else {
      const Call* latest = clockwork.LatestBefore(call.sent);
      event.when = {latest == nullptr ? 0 : TimeOf(*latest), clockwork.EarliestAfter(event.end)};
    }
    events.push_back(event);
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.call->sent < b.call->sent; });
  return events;
}

std::vector<std::string> CheckTime(const Recording& run) {
  const Clockwork clockwork(run);
  std::vector<std::string> broken;
  for (const Call& call : run.calls) {
    const Call* latest = TimeOf(call) == 0 ? nullptr : clockwork.LatestBefore(call.sent);
    if (latest != nullptr && TimeOf(*latest) > TimeOf(call)) {
      broken.push_back("time went back\n    " + Describe(*latest) + "\n    " + Describe(call));
    }
  }
  return broken;
}

}  // namespace onced::fault
