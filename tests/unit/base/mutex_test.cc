#include "server/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace onced {
namespace {

// Long enough that a test which ever waits for it has failed.
constexpr std::chrono::minutes kForEver{10};

class Counter {
 public:
  void Add() {
    MutexLock lock(mutex_);
    const int before = count_;
    std::this_thread::yield();  // Invites the others in.
    count_ = before + 1;
  }
  int count() {
    MutexLock lock(mutex_);
    return count_;
  }

 private:
  Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, LetsOneInAtATime) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&counter] {
      for (int n = 0; n < 1'000; ++n) counter.Add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.count(), 4'000);
}

// A flag to be waited for, in each of the two ways.
class Flag {
 public:
  void Raise(bool to_all) {
    MutexLock lock(mutex_);
    up_ = true;
    if (to_all) return changed_.NotifyAll();
    changed_.NotifyOne();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!up_) changed_.Wait(mutex_);
  }
  void WaitFor(std::chrono::nanoseconds timeout) {
    MutexLock lock(mutex_);
    while (!up_) changed_.WaitFor(mutex_, timeout);
  }
  // Nobody raises it: returns when the timeout has passed.
  void WaitOnceFor(std::chrono::nanoseconds timeout) {
    MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, timeout);
  }
  // Whether another thread gets the lock.
  bool IsFree() {
    bool entered = false;
    std::thread([&] {
      MutexLock lock(mutex_);
      entered = true;
    }).join();
    return entered;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool up_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(CondVar, WakesAWaiter) {
  Flag flag;
  std::thread waiter([&flag] { flag.Wait(); });
  flag.Raise(/*to_all=*/false);
  waiter.join();
  EXPECT_TRUE(flag.IsFree());
}

TEST(CondVar, WakesAllWaiters) {
  Flag flag;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) waiters.emplace_back([&flag] { flag.WaitFor(kForEver); });
  flag.Raise(/*to_all=*/true);
  for (std::thread& waiter : waiters) waiter.join();
}

TEST(CondVar, WaitForIsWokenBeforeItsTime) {
  Flag flag;
  std::thread waiter([&flag] { flag.WaitFor(kForEver); });
  const auto before = std::chrono::steady_clock::now();
  flag.Raise(/*to_all=*/false);
  waiter.join();
  EXPECT_LT(std::chrono::steady_clock::now() - before, kForEver);
}

TEST(CondVar, WaitForEndsWithItsTime) {
  for (const std::chrono::nanoseconds timeout :
       {std::chrono::nanoseconds(-1'000'000'000), std::chrono::nanoseconds(0),
        std::chrono::nanoseconds(2'000'000)}) {
    Flag flag;
    const auto before = std::chrono::steady_clock::now();
    // May be woken for no reason, but not for ever.
    while (std::chrono::steady_clock::now() - before < timeout) flag.WaitOnceFor(timeout);
    flag.WaitOnceFor(timeout);
    EXPECT_TRUE(flag.IsFree());
  }
}

}  // namespace
}  // namespace onced
