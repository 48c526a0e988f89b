#include "server/storage/codec/expiry_sample.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using testing::DoubleNear;

constexpr double kAccuracy = 0.04;
const absl::Time kStart = TestStart();

ExpirySample Unfiltered() { return ExpirySample(absl::InfinitePast()); }

TEST(ExpirySample, OfAnEmptyFileHasNoUselessShare) {
  EXPECT_EQ(Unfiltered().UselessShare(absl::InfiniteFuture()), 0);
}

TEST(ExpirySample, KnowsAOneRecordFileExactly) {
  ExpirySample sample = Unfiltered();
  sample.Add(kStart, 200);
  EXPECT_EQ(sample.UselessShare(kStart - absl::Microseconds(1)), 0);
  EXPECT_EQ(sample.UselessShare(kStart), 1);
}

TEST(ExpirySample, CountsWhatNeverExpiresAsUseful) {
  ExpirySample sample = Unfiltered();
  sample.Add(absl::InfiniteFuture(), 300);
  sample.Add(kStart, 100);
  EXPECT_THAT(sample.UselessShare(kStart + absl::Hours(24 * 36500)), DoubleNear(0.25, kAccuracy));
}

TEST(ExpirySample, CountsTombstonesWhateverTheTime) {
  ExpirySample sample(kStart);
  for (int i = 0; i < 100; ++i) sample.Add(absl::InfinitePast(), 20);
  EXPECT_EQ(sample.UselessShare(kStart - absl::Hours(1)), 1);
}

TEST(ExpirySample, LeavesOutWhatWasKeptOnPurpose) {
  ExpirySample sample(kStart);
  sample.Add(kStart, 1'000);
  sample.Add(kStart + absl::Seconds(1), 1'000);
  EXPECT_EQ(sample.UselessShare(kStart), 0);
  EXPECT_THAT(sample.UselessShare(kStart + absl::Seconds(1)), DoubleNear(0.5, kAccuracy));
}

// By bytes, not by records.
TEST(ExpirySample, IsNearTheTruthForFilesOfAnySize) {
  std::mt19937_64 random(20'261'129);
  for (const int records : {50, 1'000, 100'000}) {
    ExpirySample sample = Unfiltered();
    double all = 0;
    double expired = 0;
    for (int i = 0; i < records; ++i) {
      const std::size_t bytes = 100 + random() % 400;
      const auto second = static_cast<std::int64_t>(random() % 1'000);
      sample.Add(kStart + absl::Seconds(second), bytes);
      all += static_cast<double>(bytes);
      if (second <= 300) expired += static_cast<double>(bytes);
    }
    // 64 points or more: three standard deviations.
    EXPECT_THAT(sample.UselessShare(kStart + absl::Seconds(300)), DoubleNear(expired / all, 0.18))
        << records;
  }
}

TEST(ExpirySample, SurvivesStorage) {
  ExpirySample sample(kStart);
  for (int i = 0; i < 5'000; ++i) {
    sample.Add(i % 7 == 0 ? absl::InfinitePast() : kStart + absl::Seconds(i), 100);
  }
  const std::string bytes = sample.Encode();
  const auto read = ExpirySample::Decode(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->Encode(), bytes);
  for (const int at : {0, 1'000, 2'500, 5'000}) {
    const absl::Time now = kStart + absl::Seconds(at);
    EXPECT_EQ(read->UselessShare(now), sample.UselessShare(now)) << at;
  }
  EXPECT_LT(bytes.size(), 1'100U);
}

TEST(ExpirySample, HasGoldenBytes) {
  ExpirySample sample(kStart);
  sample.Add(absl::InfiniteFuture(), 16);
  sample.Add(absl::InfinitePast(), 16);
  const std::string bytes = sample.Encode();
  EXPECT_EQ(bytes.substr(0, bytes.size() - 4),
            std::string("\x01\x00\x40\x1e\x18\x24\x0a\x06\x00\x02\x00\x00\x00"
                        "\x00\x00\x00\x00\x00\x00\x00\x80\xff\xff\xff\xff\xff\xff\xff\x7f",
                        29));
}

TEST(ExpirySample, RefusesEveryTruncationAndEveryTail) {
  ExpirySample sample(kStart);
  for (int i = 0; i < 10; ++i) sample.Add(kStart, 100);
  const std::string bytes = sample.Encode();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_TRUE(absl::IsDataLoss(ExpirySample::Decode(bytes.substr(0, n)).status())) << n;
  }
  EXPECT_TRUE(absl::IsDataLoss(ExpirySample::Decode(bytes + "x").status()));
}

}  // namespace
}  // namespace onced
