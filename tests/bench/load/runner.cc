#include "tests/bench/load/runner.h"

#include <time.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bench/load/arrivals.h"

namespace onced::bench {
namespace {

// Longer than any answer takes that is still worth measuring.
constexpr std::chrono::seconds kPatience{30};

double ThreadCpuSeconds() {
  timespec cpu{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  return static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) / 1e9;
}

// Callers, what they have asked for, and since when.
class Load {
 public:
  Load(Driver& driver, Workload& workload, const LoadOptions& options)
      : driver_(driver),
        workload_(workload),
        now_(options.now),
        callers_(static_cast<std::size_t>(options.callers)),
        last_answer_(now_()) {
    for (int i = options.callers; i-- > 0;) idle_.push_back(i);
    for (Caller& caller : callers_) caller.steps.resize(static_cast<std::size_t>(options.steps));
  }

  bool HasIdle() const { return !idle_.empty(); }
  bool InFlight() const { return idle_.size() < callers_.size(); }

  // `since`: from when its latency counts.
  void StartOne(Clock::time_point since) {
    const int number = idle_.back();
    idle_.pop_back();
    Start(number, since);
  }
  // All who have anything to do.
  void StartAll() {
    for (const int number : std::exchange(idle_, {})) {
      if (workload_.HasNext(number)) {
        Start(number, now_());
      } else {
        idle_.push_back(number);
      }
    }
  }

  // What completed until `until`, or a little earlier.
  // `counted(latency, steps)` is called for each message.
  template <typename Counted>
  absl::Status Poll(Clock::time_point until, Clock::time_point& now, Counted counted) {
    done_.clear();
    driver_.Poll(until, done_);
    now = now_();
    if (!done_.empty()) last_answer_ = now;
    for (const Completion& completion : done_) {
      const Caller& caller = callers_[static_cast<std::size_t>(completion.caller)];
      if (absl::Status status = Judge(completion, caller); !status.ok()) return status;
      counted(now - caller.since, caller.steps.size());
      workload_.Completed(completion.caller, completion.outcomes);
      idle_.push_back(completion.caller);
    }
    if (InFlight() && now - last_answer_ > kPatience) {
      return absl::DeadlineExceededError("no answer for 30 s");
    }
    return absl::OkStatus();
  }

 private:
  struct Caller {
    std::vector<Step> steps;
    Clock::time_point since;
  };

  void Start(int number, Clock::time_point since) {
    Caller& caller = callers_[static_cast<std::size_t>(number)];
    workload_.Next(number, caller.steps);
    caller.since = since;
    driver_.Start(number, caller.steps);
  }

  static absl::Status Judge(const Completion& completion, const Caller& caller) {
    if (completion.outcomes.size() != caller.steps.size()) {
      return absl::DataLossError("a message was answered in part");
    }
    const auto wrong = std::find_if(completion.outcomes.begin(), completion.outcomes.end(),
                                    [](const Outcome& outcome) { return !outcome.as_expected; });
    if (wrong == completion.outcomes.end()) return absl::OkStatus();
    const auto& step = caller.steps[static_cast<std::size_t>(wrong - completion.outcomes.begin())];
    return absl::DataLossError(absl::StrCat("a wrong answer for key ", step.key, ", expectation ",
                                            static_cast<int>(step.expect)));
  }

  Driver& driver_;
  Workload& workload_;
  const std::function<Clock::time_point()> now_;
  std::vector<Caller> callers_;
  std::vector<int> idle_;
  std::vector<Completion> done_;
  Clock::time_point last_answer_;
};

// What is counted, and from when on.
class Counting {
 public:
  Counting(const LoadOptions& options, Clock::time_point start)
      : begin_(start + options.warm_up), end_(begin_ + options.duration) {}

  Clock::time_point end() const { return end_; }
  void Count(Clock::time_point now, Clock::duration latency, std::size_t steps) {
    result_.all_steps += steps;
    if (now < begin_ || now >= end_) return;
    if (!cpu_.has_value()) cpu_ = ThreadCpuSeconds();
    result_.latency.Record(latency);
    result_.steps += steps;
  }
  LoadResult Result(Clock::duration duration) {
    result_.duration = duration;
    const double used = ThreadCpuSeconds() - cpu_.value_or(ThreadCpuSeconds());
    result_.load_cpu = used / std::chrono::duration<double>(duration).count();
    return std::move(result_);
  }

 private:
  const Clock::time_point begin_;
  const Clock::time_point end_;
  std::optional<double> cpu_;  // At the first that was counted.
  LoadResult result_;
};

absl::Status Drain(Load& load, Clock::time_point now) {
  while (load.InFlight()) {
    const auto ignored = [](Clock::duration, std::size_t) {};
    if (absl::Status status = load.Poll(now + kPatience, now, ignored); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoadResult> RunLoad(Driver& driver, Workload& workload, const LoadOptions& options) {
  Load load(driver, workload, options);
  const bool open = options.messages_per_second > 0;
  const Clock::time_point start = options.now();
  Counting counting(options, start);
  Arrivals arrivals(start, open ? options.messages_per_second : 1, options.seed);
  Clock::time_point now = start;
  while (now < counting.end()) {
    while (load.HasIdle() && (!open || arrivals.next() <= now)) {
      load.StartOne(open ? arrivals.next() : options.now());
      if (open) arrivals.Pop();
    }
    // With all callers busy, arrivals wait for one; their time counts.
    const bool timed = open && load.HasIdle();
    const auto until = timed ? std::min(arrivals.next(), counting.end()) : counting.end();
    const auto counted = [&](Clock::duration latency, std::size_t steps) {
      counting.Count(now, latency, steps);
    };
    if (absl::Status status = load.Poll(until, now, counted); !status.ok()) return status;
  }
  LoadResult result = counting.Result(options.duration);
  if (absl::Status status = Drain(load, now); !status.ok()) return status;
  return result;
}

absl::Status RunToEnd(Driver& driver, Workload& workload, int callers, int steps) {
  Load load(driver, workload, {.callers = callers, .steps = steps});
  Clock::time_point now = Clock::now();
  while (load.StartAll(), load.InFlight()) {
    const auto ignored = [](Clock::duration, std::size_t) {};
    if (absl::Status status = load.Poll(now + kPatience, now, ignored); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace onced::bench
