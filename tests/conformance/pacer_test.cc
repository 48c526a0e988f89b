#include "server/storage/rocksdb/pacer.h"

#include <limits>
#include <thread>

#include "gtest/gtest.h"
#include "server/storage/rocksdb/stall_relief.h"

namespace onced {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(Pacer, HasNoLimitUntilItIsGivenOne) {
  Pacer pacer;
  pacer.Spend(std::numeric_limits<std::uint64_t>::max());
}

// A slow machine may only make it longer.
TEST(Pacer, TakesAsLongAsTheRateSays) {
  Pacer pacer;
  pacer.SetRate(10 * kMiB);
  const Countdown spent(std::chrono::milliseconds(95));
  for (int i = 0; i < 1'000; ++i) pacer.Spend(kMiB / 1'000);
  EXPECT_LE(spent.rest().count(), 0);
}

TEST(Pacer, LetsGoOfWhoWaitsWhenThereIsARush) {
  Pacer pacer;
  pacer.SetRate(1'000'000);
  std::thread spender([&] { pacer.Spend(std::uint64_t{1} << 40); });  // Twelve days.
  pacer.Rush(true);
  spender.join();
  pacer.Rush(false);
  pacer.Rush(true);
  pacer.Spend(std::uint64_t{1} << 40);
}

TEST(StallRelief, RushesWhileAnyFamilyIsStalled) {
  Pacer pacer;
  pacer.SetRate(1);
  StallRelief relief(pacer);
  rocksdb::WriteStallInfo info;
  const auto tell = [&](const char* family, rocksdb::WriteStallCondition now) {
    info.cf_name = family;
    info.condition.cur = now;
    relief.OnStallConditionsChanged(info);
  };
  tell("a", rocksdb::WriteStallCondition::kDelayed);
  tell("b", rocksdb::WriteStallCondition::kStopped);
  tell("b", rocksdb::WriteStallCondition::kNormal);
  pacer.Spend(1'000'000);  // Or for eleven days.
}

TEST(Pacer, LetsNobodyWaitOnceItIsStopped) {
  Pacer pacer;
  pacer.SetRate(1);
  std::thread spender([&] { pacer.Spend(1'000'000); });  // Eleven days.
  pacer.Stop();
  spender.join();
  pacer.Spend(1'000'000);
}

}  // namespace
}  // namespace onced
