#include "server/base/periodic_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace onced {
namespace {

constexpr absl::Duration kNever = absl::Hours(24 * 365);

TEST(PeriodicWorker, RunsAgainAndAgainOnAThreadOfItsOwn) {
  std::atomic<int> runs{0};
  std::promise<std::thread::id> third;
  const PeriodicWorker worker(absl::Microseconds(1), [&] {
    if (++runs == 3) third.set_value(std::this_thread::get_id());
  });
  EXPECT_NE(third.get_future().get(), std::this_thread::get_id());
}

TEST(PeriodicWorker, TheFirstRunIsNotBeforeTheInterval) {
  constexpr absl::Duration kInterval = absl::Milliseconds(50);
  const auto start = std::chrono::steady_clock::now();
  std::promise<void> first;
  std::atomic<int> runs{0};
  const PeriodicWorker worker(kInterval, [&] {
    if (++runs == 1) first.set_value();
  });
  first.get_future().wait();
  EXPECT_GE(absl::FromChrono(std::chrono::steady_clock::now() - start), kInterval);
}

// From the end of one run to the start of the next, however long the run was.
TEST(PeriodicWorker, RunsLieAnIntervalApart) {
  constexpr absl::Duration kInterval = absl::Milliseconds(20);
  std::promise<void> done;
  std::chrono::steady_clock::time_point ended;
  int runs = 0;
  const PeriodicWorker worker(kInterval, [&] {
    const auto begun = std::chrono::steady_clock::now();
    if (++runs > 1) {
      EXPECT_GE(absl::FromChrono(begun - ended), kInterval);
    }
    if (runs == 4) done.set_value();
    while (absl::FromChrono(std::chrono::steady_clock::now() - begun) < kInterval) {
      std::this_thread::yield();
    }
    ended = std::chrono::steady_clock::now();
  });
  done.get_future().wait();
}

// Would take a year, if it waited for the interval.
TEST(PeriodicWorker, TheEndInterruptsThePauseAndRunsNothing) {
  const PeriodicWorker worker(kNever, [] { ADD_FAILURE(); });
  for (int i = 0; i < 100; ++i) const PeriodicWorker brief(kNever, [] { ADD_FAILURE(); });
}

TEST(PeriodicWorker, TheEndWaitsForARunAndIsFollowedByNone) {
  std::promise<void> started;
  std::promise<void> go_on;
  std::atomic<int> runs{0};
  std::atomic<bool> ended{false};
  auto worker = std::make_unique<PeriodicWorker>(absl::Microseconds(1), [&] {
    if (++runs > 1) return;
    started.set_value();
    go_on.get_future().wait();
    ended = true;
  });
  started.get_future().wait();
  std::thread ending([&] {
    worker.reset();
    EXPECT_TRUE(ended);
  });
  go_on.set_value();
  ending.join();
  const int at_the_end = runs;
  std::this_thread::yield();
  EXPECT_EQ(runs, at_the_end);
}

}  // namespace
}  // namespace onced
