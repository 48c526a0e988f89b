// Units of work in one line each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/store.h"

namespace onced {

struct Place {
  ShardId shard;
  RecordKey key;
};

// Slots are in the order of `places`. Waits for what `durable` is told.
absl::Status RunUnit(Store& store, const std::vector<Place>& places,
                     const std::function<void(UnitOfWork&)>& body);
absl::Status PutRecord(Store& store, const Place& place, const Record& record);
absl::Status EraseRecord(Store& store, const Place& place);
// The read status, if that is not OK.
absl::StatusOr<std::optional<Record>> FindRecord(Store& store, const Place& place);
Fence NextFenceOf(Store& store, const Place& place, absl::Time now);

}  // namespace onced
