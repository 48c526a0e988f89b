// A store that breaks one promise, to see that the checker of histories notices
// it in a run of the real server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"
#include "server/storage/store_wrapper.h"

namespace onced::fault {

enum class Plant : std::uint8_t {
  kDoubleGrant,    // Now and then a record whose lease is running is not seen.
  kLostCommit,     // Some commits are acknowledged, and not written.
  kLostRelease,    // Some releases likewise.
  kFenceBack,      // Some fences are larger by an hour, so that the next is less.
  kStaleRead,      // Now and then a key is seen as it was before its last change.
  kChangedResult,  // Some commits are written with another body.
  kAnswerFirst,    // All is said to be durable at once, and written then.
};
std::optional<Plant> PlantNamed(const std::string& name);
std::string PlantNames();

// Threads:  as Store.
// Lifetime: `disk` outlives it.
class LyingDisk final : public StoreWrapper {
 public:
  LyingDisk(Store& disk, Plant plant, std::uint64_t seed)
      : StoreWrapper(disk), plant_(plant), random_(seed) {}

  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override;

 private:
  void Before(UnitOfWork& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void After(UnitOfWork& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MoveFence(UnitOfWork& work, ShardId shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GoStale(UnitOfWork::Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Sometimes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return random_() % 10 == 0; }

  // Constant after construction.
  const Plant plant_;

  // Shared.
  Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  // Before its last change, by key.
  absl::flat_hash_map<RecordKey, std::optional<Record>> older_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced::fault
