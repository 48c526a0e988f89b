#include "server/storage/codec/backup_label.h"

#include "gtest/gtest.h"
#include "server/storage/codec/wire.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

const BackupLabel kLabel{
    .cut_time = TestStart(), .store = 0x1122334455667788, .epoch = Epoch{0x99aabbcc}, .shards = 16};

// Never changed: every backup ever made stays readable.
constexpr char kGolden[] =
    "oncedbk1"
    "\x00\x40\x1e\x18\x24\x0a\x06\x00"
    "\x88\x77\x66\x55\x44\x33\x22\x11"
    "\xcc\xbb\xaa\x99"
    "\x10\x00\x00\x00";

std::string Golden() {
  WireWriter out;
  out.Fixed(kGolden, sizeof kGolden - 1);
  return std::move(out).Seal();
}

TEST(BackupLabel, IsStoredAsItAlwaysWas) {
  EXPECT_EQ(EncodeBackupLabel(kLabel), Golden());
  EXPECT_EQ(DecodeBackupLabel(Golden()).value(), kLabel);
}

TEST(BackupLabel, RefusesEveryTruncationTailAndFlip) {
  const std::string bytes = Golden();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeBackupLabel(bytes.substr(0, n)).status())) << n;
    std::string flipped = bytes;
    flipped[n] = static_cast<char>(flipped[n] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(DecodeBackupLabel(flipped).status())) << n;
  }
  EXPECT_TRUE(absl::IsDataLoss(DecodeBackupLabel(bytes + "x").status()));
  WireWriter longer;
  longer.Fixed(kGolden, sizeof kGolden - 1);
  longer.Int(std::uint8_t{0});
  EXPECT_TRUE(absl::IsDataLoss(DecodeBackupLabel(std::move(longer).Seal()).status()));
}

TEST(BackupLabel, KnowsANewerVersionFromDamage) {
  WireWriter newer;
  newer.Fixed("oncedbk2", 8);
  newer.Int(std::uint64_t{1});
  EXPECT_TRUE(absl::IsFailedPrecondition(DecodeBackupLabel(std::move(newer).Seal()).status()));
}

}  // namespace
}  // namespace onced
