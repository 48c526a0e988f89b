// Stores that break their promises while the disk is slow.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>

#include "absl/time/time.h"
#include "server/storage/store_wrapper.h"
#include "tests/sim/lying_store.h"

namespace onced::sim {

// Passes through to a store that may hold durability, but for its lie.
//
// Threads:  one at a time.
// Lifetime: `real` and `disk` outlive it. `disk` has what is durable alone.
class HastyStore final : public StoreWrapper {
 public:
  HastyStore(Store& real, Store& disk, Lie lie, std::uint64_t seed)
      : StoreWrapper(real), disk_(disk), lie_(lie), random_(seed) {}

  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override {
    const bool tells_first = lie_ == Lie::kTellsFirst;
    real().Run(
        std::move(work),
        [&](UnitOfWork& loaded) {
          for (UnitOfWork::Entry& entry : loaded.entries()) Spoil(entry);
          body(loaded);
        },
        tells_first ? Durable([](const absl::Status&) {}) : std::move(durable));
    if (tells_first) std::move(durable)(absl::OkStatus());
  }

 private:
  void Spoil(UnitOfWork::Entry& entry) {
    if (entry.durable) return;
    if (lie_ == Lie::kCallsItDurable) entry.durable = true;
    if (lie_ == Lie::kForgetsUnwritten && random_() % 4 == 0) ReadFromDisk(entry);
  }
  void ReadFromDisk(UnitOfWork::Entry& entry) {
    auto read = std::make_unique<UnitOfWork>();
    const auto slot = read->Want(entry.shard, entry.key);
    disk_.Run(
        std::move(read), [&](UnitOfWork& loaded) { entry.record = loaded.Find(slot); },
        [](const absl::Status&) {});  // Ignored: nothing is changed.
    entry.durable = true;
  }

  Store& disk_;
  const Lie lie_;
  std::mt19937_64 random_;
};

}  // namespace onced::sim
