// Time that a store has promised never to go back behind.
#pragma once

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/ledger/record.h"
#include "server/storage/store.h"

namespace onced {

// Threads:  any.
// Lifetime: `clock` and `store` outlive it.
// Promise:  Now() is never above the store's durable mark: a start after a crash
//           sees no time earlier than one that a decision was made by.
class MarkedClock {
 public:
  MarkedClock(const Clock& clock, Store& store)
      : clock_(clock), store_(store), started_(clock.Now()) {}

  // Writes the mark ahead where needed, which is once a second at most (a little
  // more often at first), and then waits for the disk. An error if that failed.
  absl::StatusOr<absl::Time> Now() {
    const absl::Time now = clock_.Now();
    if (now <= store_.clock_mark()) return now;
    // A start resumes at the mark. Were it always a second ahead, a process that
    // crashes ten times a second would make time pass ten times too fast.
    const absl::Duration ahead = std::clamp(now - started_, kLeadMin, kMarkLeadMax);
    const absl::Status raised = store_.RaiseClockMark(now + ahead);
    if (!raised.ok()) return raised;
    // That took as long as the disk does.
    return std::min(clock_.Now(), store_.clock_mark());
  }

  static constexpr absl::Duration kLeadMin = absl::Milliseconds(20);

 private:
  const Clock& clock_;
  Store& store_;
  const absl::Time started_;
};

}  // namespace onced
