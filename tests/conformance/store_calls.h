// Units of work in one line each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/mutex.h"
#include "server/storage/store.h"

namespace onced {

struct Place {
  ShardId shard;
  RecordKey key;
};

// Slots are in the order of `places`. Waits for what `durable` is told.
absl::Status RunUnit(Store& store, const std::vector<Place>& places,
                     const std::function<void(UnitOfWork&)>& body);
// The same without waiting: what `durable` is told is `durable`'s business.
void StartUnit(Store& store, const std::vector<Place>& places,
               const std::function<void(UnitOfWork&)>& body, Store::Durable durable);
absl::Status PutRecord(Store& store, const Place& place, const Record& record);
absl::Status EraseRecord(Store& store, const Place& place);
// The read status, if that is not OK.
absl::StatusOr<std::optional<Record>> FindRecord(Store& store, const Place& place);
Fence NextFenceOf(Store& store, const Place& place, absl::Time now);

// Who was told what, in the order in which they were.
//
// Threads:  any.
// Lifetime: outlives the stores that its functions were given to.
class Told {
 public:
  struct One {
    int who = 0;
    absl::StatusCode code = absl::StatusCode::kOk;
    bool operator==(const One&) const = default;
    friend void PrintTo(const One& one, std::ostream* os) {
      *os << one.who << ": " << absl::StatusCodeToString(one.code);
    }
  };

  // Adds what it is told.
  Store::Durable As(int who);
  std::vector<One> all() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until so many were told, and returns all that were.
  std::vector<One> Await(std::size_t count) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::vector<One> all_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
