// Stores that break their promises, to see that the checker notices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/storage/store_wrapper.h"

namespace onced::sim {

enum class Lie {
  kNone,
  kForgetsWrites,  // Some that were durable are gone after a restart.
  kForgetsTime,    // The clock mark is gone after a restart.
  kStaleReads,     // Now and then a read gives the record before the last one.
  // While the disk is slow; see HastyStore.
  kCallsItDurable,    // What it found undurable is said to be durable.
  kTellsFirst,        // Says that a change is durable, and writes it then.
  kForgetsUnwritten,  // Now and then what is not on the disk yet isn't seen.
};

// Passes through to another store, but for its lie.
//
// Threads:  one at a time.
// Lifetime: `real` outlives it.
class LyingStore final : public StoreWrapper {
 public:
  LyingStore(Store& real, Lie lie, std::uint64_t seed)
      : StoreWrapper(real), lie_(lie), random_(seed), mark_(real.clock_mark()) {}

  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override {
    real().Run(
        std::move(work),
        [&](UnitOfWork& loaded) {
          for (UnitOfWork::Entry& entry : loaded.entries()) Spoil(entry);
          body(loaded);
          for (UnitOfWork::Entry& entry : loaded.entries()) Lose(entry);
        },
        std::move(durable));
  }
  absl::Time clock_mark() const override {
    return lie_ == Lie::kForgetsTime ? mark_ : real().clock_mark();
  }
  absl::Status RaiseClockMark(absl::Time mark) override {
    if (lie_ != Lie::kForgetsTime) return real().RaiseClockMark(mark);
    mark_ = std::max(mark_, mark);
    return absl::OkStatus();
  }

 private:
  bool Sometimes() { return random_() % 4 == 0; }

  void Spoil(UnitOfWork::Entry& entry) {
    if (const auto hidden = only_here_.find(entry.key); hidden != only_here_.end()) {
      entry.record = hidden->second;
    }
    if (lie_ != Lie::kStaleReads) return;
    const std::optional<Record> current = entry.record;
    if (const auto old = older_.find(entry.key); old != older_.end() && Sometimes()) {
      entry.record = old->second;
    }
    older_[entry.key] = current;
  }
  void Lose(UnitOfWork::Entry& entry) {
    if (lie_ != Lie::kForgetsWrites || !entry.changed) return;
    only_here_.erase(entry.key);
    if (!Sometimes()) return;
    only_here_[entry.key] = entry.record;
    entry.changed = false;
  }

  const Lie lie_;
  std::mt19937_64 random_;
  absl::Time mark_;
  absl::flat_hash_map<RecordKey, std::optional<Record>> only_here_;
  absl::flat_hash_map<RecordKey, std::optional<Record>> older_;
};

}  // namespace onced::sim
