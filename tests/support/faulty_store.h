// A store that fails on demand.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/storage/store.h"

namespace onced {

// Passes through to another store until told to fail. As a real store does, it
// refuses everything once a write has failed: a test that goes on from there
// opens the real store anew and wraps that.
//
// Threads:  as Store says; the saboteur's functions from any thread.
// Lifetime: `real` outlives it.
class FaultyStore final : public Store {
 public:
  explicit FaultyStore(Store& real) : real_(real) {}

  // ---- For saboteurs ----

  // Whether what a failed write wrote is there when the store is opened anew.
  enum class Landing { kLands, kIsLost };
  // The `nth` unit of work from now on that changes something fails; 1 is the next.
  void FailWrite(int nth, Landing landing) ABSL_LOCKS_EXCLUDED(mutex_);
  // Every read of the key fails, until healed.
  void FailReads(const RecordKey& key, absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  void HealReads() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next call of RaiseClockMark() that would write fails.
  void FailClockMark() ABSL_LOCKS_EXCLUDED(mutex_);

  void SetLowOnSpace(bool low) { low_on_space_.store(low); }

  // From now on, nobody hears that anything is durable, though the units go on
  // one after the other: a slow disk.
  void HoldDurability() ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells all who were not told, in order and on this thread; holds no more.
  void ReleaseDurability() ABSL_LOCKS_EXCLUDED(mutex_);

  // Units of work that changed something, failed ones included.
  int writes() const ABSL_LOCKS_EXCLUDED(mutex_);

  // ---- Store ----
  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  const StoreIdentity& identity() const override { return real_.identity(); }
  const Outages& outages() const override { return real_.outages(); }
  absl::Time clock_mark() const override { return real_.clock_mark(); }
  absl::Status RaiseClockMark(absl::Time mark) override ABSL_LOCKS_EXCLUDED(mutex_);
  bool LowOnSpace() const override { return low_on_space_.load() || real_.LowOnSpace(); }
  std::uint64_t EstimateKeys() const override { return real_.EstimateKeys(); }

 private:
  struct Held {
    std::unique_ptr<UnitOfWork> work;
    absl::Status status;
    Durable durable;
  };
  struct BadRead {
    RecordKey key;
    absl::Status status;
  };

  // Fills `work` as the real store would, and spoils what is to fail.
  void Load(UnitOfWork& work);
  // Copies what was changed into a unit of the real store's.
  absl::Status Save(const UnitOfWork& work);
  // How this write ends; nullopt if it goes through.
  std::optional<Landing> CountWrite() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status FailedEarlier() const ABSL_LOCKS_EXCLUDED(mutex_);
  void Tell(Held outcome) ABSL_LOCKS_EXCLUDED(mutex_);

  Store& real_;
  std::atomic<bool> low_on_space_{false};

  mutable Mutex mutex_;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  bool fail_clock_mark_ ABSL_GUARDED_BY(mutex_) = false;
  int writes_ ABSL_GUARDED_BY(mutex_) = 0;
  int fail_at_ ABSL_GUARDED_BY(mutex_) = 0;  // A value of writes_; 0: none.
  Landing landing_ ABSL_GUARDED_BY(mutex_) = Landing::kLands;
  std::vector<BadRead> bad_reads_ ABSL_GUARDED_BY(mutex_);
  bool holding_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Held> held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
