#include "tests/conformance/store_calls.h"

#include "gtest/gtest.h"

namespace onced {

absl::Status RunUnit(Store& store, const std::vector<Place>& places,
                     const std::function<void(UnitOfWork&)>& body) {
  auto work = std::make_unique<UnitOfWork>();
  for (const Place& place : places) work->Want(place.shard, place.key);
  int bodies = 0;
  int told = 0;
  absl::Status outcome;
  store.Run(
      std::move(work),
      [&](UnitOfWork& loaded) {
        ++bodies;
        EXPECT_EQ(told, 0) << "told before decided";
        body(loaded);
      },
      [&](const absl::Status& status) {
        ++told;
        outcome = status;
      });
  EXPECT_EQ(bodies, 1);
  EXPECT_EQ(told, 1);
  return outcome;
}

absl::Status PutRecord(Store& store, const Place& place, const Record& record) {
  return RunUnit(store, {place}, [&](UnitOfWork& work) { work.Put({0}, record); });
}

absl::Status EraseRecord(Store& store, const Place& place) {
  return RunUnit(store, {place}, [](UnitOfWork& work) { work.Erase({0}); });
}

absl::StatusOr<std::optional<Record>> FindRecord(Store& store, const Place& place) {
  absl::StatusOr<std::optional<Record>> found;
  // Ignored: a store that failed says so in the read status as well.
  (void)RunUnit(store, {place}, [&](UnitOfWork& work) {
    if (work.ReadStatus({0}).ok()) {
      found = work.Find({0});
    } else {
      found = work.ReadStatus({0});
    }
  });
  return found;
}

Fence NextFenceOf(Store& store, const Place& place, absl::Time now) {
  Fence next;
  EXPECT_TRUE(
      RunUnit(store, {place}, [&](UnitOfWork& work) { next = work.NextFence({0}, now); }).ok());
  return next;
}

}  // namespace onced
