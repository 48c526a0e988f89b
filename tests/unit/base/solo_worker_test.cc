#include "server/base/solo_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace onced {
namespace {

using Taken = SoloWorker::Taken;

TEST(SoloWorker, RunsOneJobAtATimeAndRefusesOthers) {
  SoloWorker worker;
  std::promise<void> started;
  std::promise<void> go_on;
  std::thread::id ran_on;
  ASSERT_EQ(worker.TryRun([&] {
    ran_on = std::this_thread::get_id();
    started.set_value();
    go_on.get_future().wait();
  }),
            Taken::kYes);
  EXPECT_EQ(worker.TryRun([] { ADD_FAILURE(); }), Taken::kBusy);
  started.get_future().wait();
  EXPECT_EQ(worker.TryRun([] { ADD_FAILURE(); }), Taken::kBusy);
  go_on.set_value();
  worker.Stop();
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(SoloWorker, TakesTheNextOnceOneHasEnded) {
  SoloWorker worker;
  std::atomic<int> ran{0};
  int taken = 0;
  while (taken < 100) taken += worker.TryRun([&] { ++ran; }) == Taken::kYes ? 1 : 0;
  worker.Stop();
  EXPECT_EQ(ran, 100);
}

TEST(SoloWorker, StopWaitsForTheJobAndRefusesFromThenOn) {
  SoloWorker worker;
  std::promise<void> started;
  std::promise<void> go_on;
  std::atomic<bool> ended{false};
  ASSERT_EQ(worker.TryRun([&] {
    started.set_value();
    go_on.get_future().wait();
    ended = true;
  }),
            Taken::kYes);
  started.get_future().wait();
  std::thread stopping([&] {
    worker.Stop();
    EXPECT_TRUE(ended);
  });
  while (worker.TryRun([] { ADD_FAILURE(); }) == Taken::kBusy) std::this_thread::yield();
  EXPECT_EQ(worker.TryRun([] { ADD_FAILURE(); }), Taken::kStopping);
  go_on.set_value();
  stopping.join();
  EXPECT_EQ(worker.TryRun([] { ADD_FAILURE(); }), Taken::kStopping);
}

TEST(SoloWorker, RequestStopRefusesAndDoesNotWait) {
  SoloWorker worker;
  std::promise<void> go_on;
  std::atomic<bool> ended{false};
  ASSERT_EQ(worker.TryRun([&] {
    go_on.get_future().wait();
    ended = true;
  }),
            Taken::kYes);
  worker.RequestStop();  // Would never return, if it waited.
  EXPECT_FALSE(ended);
  EXPECT_EQ(worker.TryRun([] { ADD_FAILURE(); }), Taken::kStopping);
  go_on.set_value();
  worker.Stop();
  EXPECT_TRUE(ended);
}

TEST(SoloWorker, AJobTakenJustBeforeTheEndStillRuns) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) {
    SoloWorker worker;
    ASSERT_EQ(worker.TryRun([&] { ++ran; }), Taken::kYes);
  }
  EXPECT_EQ(ran, 50);
}

}  // namespace
}  // namespace onced
