#include "server/rpc/quotas.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onced {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

class QuotasTest : public testing::Test {
 protected:
  // How many of `count` operations get through at once; their slots stay taken.
  int Take(const std::string& name_space, const Quota& quota, absl::Time now, int count) {
    int taken = 0;
    for (int i = 0; i < count; ++i) {
      auto got = quotas_.Take(name_space, quota, now);
      if (auto* slot = std::get_if<ConcurrencySlot>(&got)) {
        slots_.push_back(std::move(*slot));
        ++taken;
      } else {
        retry_ = std::get<absl::Duration>(got);
      }
    }
    return taken;
  }

  Quotas quotas_;
  std::vector<ConcurrencySlot> slots_;
  absl::Duration retry_;
};

TEST_F(QuotasTest, WithoutOneThereIsNoLimit) {
  EXPECT_EQ(Take("ns", {}, kStart, 100'000), 100'000);
}

TEST_F(QuotasTest, ABurstAndThenTheRate) {
  const Quota quota{.rate = 100, .burst = 10};
  EXPECT_EQ(Take("ns", quota, kStart, 50), 10);
  EXPECT_EQ(retry_, absl::Milliseconds(10));
  EXPECT_EQ(Take("ns", quota, kStart + absl::Milliseconds(9), 5), 0);
  EXPECT_EQ(retry_, absl::Milliseconds(1));
  EXPECT_EQ(Take("ns", quota, kStart + absl::Milliseconds(10), 5), 1);
  EXPECT_EQ(Take("ns", quota, kStart + absl::Milliseconds(45), 50), 3);
  EXPECT_EQ(Take("ns", quota, kStart + absl::Hours(1), 50), 10) << "not more than the burst";
}

TEST_F(QuotasTest, WithoutABurstItIsASecondsWorth) {
  EXPECT_EQ(Take("ns", {.rate = 30}, kStart, 100), 30);
  EXPECT_EQ(Take("ns", {.rate = 1}, kStart + absl::Seconds(100), 100), 1);
}

// However the operations come, over time it is the rate.
TEST_F(QuotasTest, OverALongTimeItIsTheRate) {
  for (const std::uint64_t rate : {1u, 7u, 1'000u, 333'333u, 1'000'000'000u}) {
    const Quota quota{.rate = rate, .burst = 1};
    const std::string name = absl::StrCat("ns", rate);
    int taken = 0;
    for (int i = 0; i < 10'000; ++i) {
      taken += Take(name, quota, kStart + i * absl::Seconds(1) / static_cast<double>(rate), 2);
    }
    EXPECT_GE(taken, 9'990) << rate;
    EXPECT_LE(taken, 10'010) << rate;
    slots_.clear();
  }
}

TEST_F(QuotasTest, SoManyInFlight) {
  const Quota quota{.concurrency = 3};
  EXPECT_EQ(Take("ns", quota, kStart, 10), 3);
  EXPECT_GT(retry_, absl::ZeroDuration());
  EXPECT_EQ(Take("ns", quota, kStart + absl::Hours(1), 10), 0);
  slots_.pop_back();
  EXPECT_EQ(Take("ns", quota, kStart, 10), 1);
}

TEST_F(QuotasTest, EachNamespaceHasItsOwn) {
  const Quota quota{.rate = 2, .concurrency = 2};
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(Take(absl::StrCat("ns", i), quota, kStart, 5), 2);
}

// A refusal costs no token.
TEST_F(QuotasTest, WhatIsRefusedForTheOneCostsNothingOfTheOther) {
  const Quota quota{.rate = 10, .burst = 2, .concurrency = 1};
  EXPECT_EQ(Take("ns", quota, kStart, 10), 1);
  slots_.clear();
  EXPECT_EQ(Take("ns", quota, kStart, 1), 1);
  slots_.clear();
  EXPECT_EQ(Take("ns", quota, kStart, 1), 0);
}

TEST_F(QuotasTest, NamesDoNotFillTheMemory) {
  const Quota quota{.rate = 1, .burst = 1};
  const int many = 3 * static_cast<int>(Quotas::kNamespacesMax);
  int taken = 0;
  for (int i = 0; i < many; ++i) taken += Take(absl::StrCat("ns", i), quota, kStart, 1);
  slots_.clear();
  EXPECT_GE(taken, static_cast<int>(Quotas::kNamespacesMax) / 2);
  EXPECT_LE(taken, static_cast<int>(Quotas::kNamespacesMax) + 16) << "they share what is left";
  // Those that rest are forgotten.
  EXPECT_EQ(Take("another", quota, kStart + absl::Hours(1), 2), 1);
  EXPECT_EQ(Take("one more", quota, kStart + absl::Hours(1), 2), 1);
}

}  // namespace
}  // namespace onced
