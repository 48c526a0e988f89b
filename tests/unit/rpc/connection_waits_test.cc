#include "server/rpc/connection_waits.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace onced {
namespace {

TEST(ConnectionWaits, GivesEachConnectionItsShare) {
  ConnectionWaits waits(2);
  EXPECT_TRUE(waits.TryAdd("a"));
  EXPECT_TRUE(waits.TryAdd("a"));
  EXPECT_FALSE(waits.TryAdd("a"));
  EXPECT_FALSE(waits.TryAdd("a")) << "a refusal counts nothing";
  EXPECT_TRUE(waits.TryAdd("b"));
}

TEST(ConnectionWaits, TakesBackWhatIsRemoved) {
  ConnectionWaits waits(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(waits.TryAdd("a"));
    EXPECT_FALSE(waits.TryAdd("a"));
    waits.Remove("a");
  }
}

TEST(ConnectionWaits, ZeroIsNone) {
  ConnectionWaits waits(0);
  EXPECT_FALSE(waits.TryAdd("a"));
}

TEST(ConnectionWaits, NeverExceedsTheShareWithManyThreads) {
  constexpr int kMax = 8;
  ConnectionWaits waits(kMax);
  std::atomic<int> held{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 2'000; ++n) {
        if (!waits.TryAdd("a")) continue;
        const int now = ++held;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        --held;
        waits.Remove("a");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, kMax);
  for (int i = 0; i < kMax; ++i) EXPECT_TRUE(waits.TryAdd("a"));
  EXPECT_FALSE(waits.TryAdd("a"));
}

}  // namespace
}  // namespace onced
