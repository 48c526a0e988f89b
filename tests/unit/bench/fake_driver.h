// A server that answers after some time, or wrongly. The time is its own: it passes
// only in Poll(), and at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "tests/bench/driver.h"

namespace onced::bench {

// Answers in order, each after `delay`; the answer of the `wrong_at`th step is wrong.
class FakeDriver final : public Driver {
 public:
  Clock::time_point now{std::chrono::hours(1)};
  Clock::duration delay{};
  std::uint64_t wrong_at = ~std::uint64_t{0};
  // Answers nothing that was started until then.
  Clock::time_point stalled_until{};

  void Start(int caller, const std::vector<Step>& steps) override {
    started.insert(started.end(), steps.begin(), steps.end());
    Completion completion{.caller = caller};
    for (const Step& step : steps) {
      const bool fresh = step.op == Op::kReserve && step.expect == Expect::kFresh;
      completion.outcomes.push_back(
          {.as_expected = steps_++ != wrong_at, .token = fresh ? "token of " + step.key : ""});
    }
    const Clock::time_point due = std::max(now + delay, stalled_until);
    pending_.push_back({due, std::move(completion)});
    most_in_flight = std::max(most_in_flight, pending_.size());
  }

  void Poll(Clock::time_point until, std::vector<Completion>& done) override {
    const Clock::time_point due = pending_.empty() ? until : std::min(pending_.front().due, until);
    now = std::max(now, due);
    while (!pending_.empty() && pending_.front().due <= now) {
      done.push_back(std::move(pending_.front().completion));
      pending_.pop_front();
    }
  }

  std::vector<Step> started;
  std::size_t most_in_flight = 0;

 private:
  struct Pending {
    Clock::time_point due;
    Completion completion;
  };
  std::deque<Pending> pending_;
  std::uint64_t steps_ = 0;
};

}  // namespace onced::bench
