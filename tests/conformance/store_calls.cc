#include "tests/conformance/store_calls.h"

#include <vector>

#include "gtest/gtest.h"

namespace onced {

absl::Status RunUnit(Store& store, const std::vector<Place>& places,
                     const std::function<void(UnitOfWork&)>& body) {
  auto work = std::make_unique<UnitOfWork>();
  for (const Place& place : places) work->Want(place.shard, place.key);
  int bodies = 0;
  Mutex mutex;
  CondVar changed;
  std::vector<absl::Status> told;
  store.Run(
      std::move(work),
      [&](UnitOfWork& loaded) {
        ++bodies;
        {
          const MutexLock lock(mutex);
          EXPECT_TRUE(told.empty()) << "told before decided";
        }
        body(loaded);
      },
      [&](const absl::Status& status) {
        const MutexLock lock(mutex);
        told.push_back(status);
        changed.NotifyOne();
      });
  EXPECT_EQ(bodies, 1);
  const MutexLock lock(mutex);
  while (told.empty()) changed.Wait(mutex);
  EXPECT_EQ(told.size(), 1U);
  return told.front();
}

void StartUnit(Store& store, const std::vector<Place>& places,
               const std::function<void(UnitOfWork&)>& body, Store::Durable durable) {
  auto work = std::make_unique<UnitOfWork>();
  for (const Place& place : places) work->Want(place.shard, place.key);
  store.Run(std::move(work), body, std::move(durable));
}

Store::Durable Told::As(int who) {
  return [this, who](const absl::Status& status) {
    const MutexLock lock(mutex_);
    all_.push_back({who, status.code()});
    changed_.NotifyAll();
  };
}

std::vector<Told::One> Told::all() const {
  const MutexLock lock(mutex_);
  return all_;
}

std::vector<Told::One> Told::Await(std::size_t count) const {
  const MutexLock lock(mutex_);
  while (all_.size() < count) changed_.Wait(mutex_);
  return all_;
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
