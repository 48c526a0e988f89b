// A store that fails on demand, and whose disk may be slow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/storage/store_wrapper.h"

namespace onced {

// Passes through to another store until told to fail. As a real store does, it
// refuses everything once a write has failed: a test that goes on from there
// opens the real store anew and wraps that.
//
// While durability is held, it is as a store whose disk is slow: what was changed
// is seen by the units that follow, marked as not durable, and is in the real store
// only once it is released.
//
// Threads:  as Store says; the saboteur's functions from any thread.
// Lifetime: `real` outlives it. To destroy it is a crash: what is held is lost, and
//           nobody is told.
class FaultyStore final : public StoreWrapper {
 public:
  explicit FaultyStore(Store& real) : StoreWrapper(real) {}

  // ---- For saboteurs ----

  // Whether what a failed write wrote is there when the store is opened anew.
  enum class Landing { kLands, kIsLost };
  // The `nth` unit of work from now on that changes something fails; 1 is the next.
  // If it is held, nobody knows of it before it is released; those after it fail too.
  void FailWrite(int nth, Landing landing) ABSL_LOCKS_EXCLUDED(mutex_);
  // Every read of the key from the disk fails, until healed.
  void FailReads(const RecordKey& key, absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  void HealReads() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next call of RaiseClockMark() that would write fails.
  void FailClockMark() ABSL_LOCKS_EXCLUDED(mutex_);

  void SetLowOnSpace(bool low) { low_on_space_.store(low); }

  // From now on nothing becomes durable, though the units go on one after the
  // other. The clock mark is written all the same: a test doesn't wait for it.
  void HoldDurability() ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes and tells what is held, in order and on this thread; holds no more.
  void ReleaseDurability() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for so many units with changes and who waits for those alone; holds on.
  // False if nobody was there to be told.
  bool ReleaseSome(std::size_t units) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes so many units with changes, and tells nobody: a crash follows. Nothing
  // once a write has failed.
  void LandSilently(std::size_t units) ABSL_LOCKS_EXCLUDED(mutex_);
  // Units with changes that are held.
  std::size_t held() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Units of work that changed something, failed ones included.
  int writes() const ABSL_LOCKS_EXCLUDED(mutex_);

  // ---- Store ----
  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status RaiseClockMark(absl::Time mark) override ABSL_LOCKS_EXCLUDED(mutex_);
  bool LowOnSpace() const override { return low_on_space_.load() || real().LowOnSpace(); }

 private:
  // A unit's place in the order of those that changed something. 0: before all.
  using Turn = std::uint64_t;

  // Who waits for a turn: the unit that it is, or one that saw its changes.
  struct Held {
    Turn turn = 0;
    std::unique_ptr<UnitOfWork> work;  // nullptr: it changed nothing.
    std::optional<Landing> fails;
    Durable durable;
  };
  using Place = std::pair<std::uint32_t, RecordKey>;  // A shard, and what is in it.
  static Place PlaceOf(const UnitOfWork::Entry& entry) { return {entry.shard.value, entry.key}; }
  // What is newer than the real store.
  struct Change {
    std::optional<Record> record;
    Turn turn = 0;
  };
  struct BadRead {
    RecordKey key;
    absl::Status status;
  };

  // Fills `work` as the real store would, and spoils what is to fail. The last turn
  // of what was found that is held.
  Turn Load(UnitOfWork& work) ABSL_LOCKS_EXCLUDED(mutex_);
  Turn LoadHeld(UnitOfWork& work, std::vector<std::size_t>& others) ABSL_LOCKS_EXCLUDED(mutex_);
  void Read(UnitOfWork& work, const std::vector<std::size_t>& which) ABSL_LOCKS_EXCLUDED(mutex_);
  // Keeps it, if it has to wait; else nullopt, and `fails` says how its write ends.
  bool Keep(Held& unit, Turn found) ABSL_LOCKS_EXCLUDED(mutex_);
  void KeepChanges(const UnitOfWork& work, Turn turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void InsertByTurn(Held unit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes it unless that is to fail, and tells.
  void Finish(Held unit) ABSL_LOCKS_EXCLUDED(mutex_);
  // What is next of those up to `last`.
  std::optional<Held> Next(Turn last) ABSL_LOCKS_EXCLUDED(mutex_);
  // Up to which so many units with changes are held.
  Turn TurnOf(std::size_t units) const ABSL_LOCKS_EXCLUDED(mutex_);
  // All up to `turn` is in the real store.
  void ForgetChanges(Turn turn) ABSL_LOCKS_EXCLUDED(mutex_);
  // Copies what was changed into a unit of the real store's.
  absl::Status Save(const UnitOfWork& work);
  // How this write ends; nullopt if it goes through.
  std::optional<Landing> CountWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status FailedEarlier() const ABSL_LOCKS_EXCLUDED(mutex_);

  std::atomic<bool> low_on_space_{false};

  mutable Mutex mutex_;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  bool fail_clock_mark_ ABSL_GUARDED_BY(mutex_) = false;
  int writes_ ABSL_GUARDED_BY(mutex_) = 0;
  int fail_at_ ABSL_GUARDED_BY(mutex_) = 0;  // A value of writes_; 0: none.
  Landing landing_ ABSL_GUARDED_BY(mutex_) = Landing::kLands;
  std::vector<BadRead> bad_reads_ ABSL_GUARDED_BY(mutex_);
  bool holding_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<Held> held_ ABSL_GUARDED_BY(mutex_);  // In the order in which they are told.
  absl::flat_hash_map<Place, Change> changes_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::uint32_t, Fence> fences_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
