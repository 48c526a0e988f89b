#include "tests/bench/load/workload.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/load/keys.h"
#include "tests/bench/load/zipf.h"

namespace onced::bench {
namespace {

constexpr std::size_t kBodyBytes = 1024;
constexpr double kZipfExponent = 0.99;
// The part of Keys that prepares.
constexpr std::uint64_t kBefore = 1;

class Fresh final : public Workload {
 public:
  explicit Fresh(std::uint64_t seed, std::int64_t records = -1) : keys_(seed), left_(records) {}

  void Next(int, std::vector<Step>& steps) override {
    for (Step& step : steps) keys_.Reserve(kFreshKey, next_++, Expect::kFresh, step);
    if (left_ > 0) left_ = std::max<std::int64_t>(left_ - std::ssize(steps), 0);
  }
  bool HasNext(int) const override { return left_ != 0; }

 private:
  Keys keys_;
  std::uint64_t next_ = 0;
  std::int64_t left_;  // Negative: no end.
};

// A caller's messages are in turn reserves, and the commits of what they were granted.
class Pairs final : public Workload {
 public:
  Pairs(Keys keys, char kind, int callers, std::int64_t records = -1)
      : keys_(std::move(keys)), kind_(kind), left_(records), tokens_(callers) {}

  void Next(int caller, std::vector<Step>& steps) override {
    std::vector<std::string>& tokens = tokens_[static_cast<std::size_t>(caller)];
    if (tokens.empty()) return Reserve(steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].op = Op::kCommit;
      steps[i].expect = Expect::kCommitted;
      steps[i].token = std::move(tokens[i]);
      steps[i].body = &ResultBody();
    }
    tokens.clear();
  }
  void Completed(int caller, const std::vector<Outcome>& outcomes) override {
    std::vector<std::string>& tokens = tokens_[static_cast<std::size_t>(caller)];
    // A commit's outcomes have none.
    if (outcomes.front().token.empty()) return;
    for (const Outcome& outcome : outcomes) tokens.push_back(outcome.token);
  }
  bool HasNext(int caller) const override {
    return left_ != 0 || !tokens_[static_cast<std::size_t>(caller)].empty();
  }

 private:
  void Reserve(std::vector<Step>& steps) {
    for (Step& step : steps) keys_.Reserve(kind_, next_++, Expect::kFresh, step);
    if (left_ > 0) left_ = std::max<std::int64_t>(left_ - std::ssize(steps), 0);
  }

  Keys keys_;
  const char kind_;
  std::uint64_t next_ = 0;
  std::int64_t left_;                             // To be reserved. Negative: no end.
  std::vector<std::vector<std::string>> tokens_;  // By caller: to be committed next.
};

class Replays final : public Workload {
 public:
  Replays(Keys keys, std::int64_t records, double replayed)
      : keys_(std::move(keys)), record_(0, records - 1), is_replay_(replayed) {}

  void Next(int, std::vector<Step>& steps) override {
    for (Step& step : steps) {
      if (!is_replay_(keys_.random())) {
        keys_.Reserve(kFreshKey, next_++, Expect::kFresh, step);
        continue;
      }
      const auto number = static_cast<std::uint64_t>(record_(keys_.random()));
      keys_.Reserve(kCommittedKey, number, Expect::kReplayed, step);
      step.body = &ResultBody();
    }
  }

 private:
  Keys keys_;
  std::uniform_int_distribution<std::int64_t> record_;
  std::bernoulli_distribution is_replay_;
  std::uint64_t next_ = 0;
};

class Hot final : public Workload {
 public:
  explicit Hot(Keys keys) : keys_(std::move(keys)) {}
  void Next(int, std::vector<Step>& steps) override {
    for (Step& step : steps) {
      keys_.Reserve(kContestedKey, 0, Expect::kConflictOrReplayed, step);
    }
  }

 private:
  Keys keys_;
};

// The holder that Hot meets.
class HotHolder final : public Workload {
 public:
  explicit HotHolder(Keys keys) : keys_(std::move(keys)) {}
  void Next(int, std::vector<Step>& steps) override {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // The others of a batch, to fill it: its size is the load's.
      keys_.Reserve(i == 0 ? kContestedKey : kFreshKey, i, Expect::kAny, steps[i]);
    }
    done_ = true;
  }
  bool HasNext(int) const override { return !done_; }

 private:
  Keys keys_;
  bool done_ = false;
};

class ZipfKeys final : public Workload {
 public:
  ZipfKeys(Keys keys, std::int64_t records, int callers)
      : keys_(std::move(keys)),
        zipf_(records, kZipfExponent),
        answered_(static_cast<std::size_t>(records)),
        asked_(static_cast<std::size_t>(callers)) {}

  void Next(int caller, std::vector<Step>& steps) override {
    std::vector<std::size_t>& asked = asked_[static_cast<std::size_t>(caller)];
    asked.clear();
    for (Step& step : steps) {
      const auto number = static_cast<std::size_t>(zipf_(keys_.random()));
      // Of the first who ask for a key, any may be the one who gets it.
      const Expect expect = answered_[number] ? Expect::kConflictOrReplayed : Expect::kAny;
      keys_.Reserve(kContestedKey, number, expect, step);
      asked.push_back(number);
    }
  }
  void Completed(int caller, const std::vector<Outcome>&) override {
    for (const std::size_t number : asked_[static_cast<std::size_t>(caller)]) {
      answered_[number] = true;
    }
  }

 private:
  Keys keys_;
  const Zipf zipf_;
  std::vector<bool> answered_;                   // By key: there is a holder.
  std::vector<std::vector<std::size_t>> asked_;  // By caller.
};

WorkloadPlan PlanReplays(const WorkloadOptions& options, double replayed) {
  return {std::make_unique<Pairs>(Keys(options.seed, kBefore), kCommittedKey, options.callers,
                                  options.records),
          std::make_unique<Replays>(Keys(options.seed), options.records, replayed)};
}

}  // namespace

const std::string& ResultBody() {
  static const std::string body = [] {
    std::mt19937_64 random(1);
    std::string bytes(kBodyBytes, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  }();
  return body;
}

absl::StatusOr<WorkloadPlan> MakeWorkload(const std::string& name, const WorkloadOptions& options) {
  const Keys keys(options.seed);
  if (name == "fresh") return WorkloadPlan{nullptr, std::make_unique<Fresh>(options.seed)};
  if (name == "pairs") {
    return WorkloadPlan{nullptr, std::make_unique<Pairs>(keys, kFreshKey, options.callers)};
  }
  if (name == "replays") return PlanReplays(options, 1.0);
  if (name == "replays90") return PlanReplays(options, 0.9);
  if (name == "hot") {
    return WorkloadPlan{std::make_unique<HotHolder>(Keys(options.seed, kBefore)),
                        std::make_unique<Hot>(keys)};
  }
  if (name == "zipf") {
    return WorkloadPlan{nullptr,
                        std::make_unique<ZipfKeys>(keys, options.records, options.callers)};
  }
  return absl::InvalidArgumentError(absl::StrCat("no such workload: ", name));
}

std::vector<std::string> WorkloadNames() {
  return {"fresh", "pairs", "replays", "replays90", "hot", "zipf"};
}

std::unique_ptr<Workload> MakeFill(std::uint64_t seed, std::int64_t records) {
  return std::make_unique<Fresh>(seed, records);
}

}  // namespace onced::bench
