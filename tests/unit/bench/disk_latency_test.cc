#include "tests/bench/peers/disk_latency.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/integration/temp_dir.h"

namespace onced::bench {
namespace {

TEST(MeasureDisk, SyncsAndLeavesNothing) {
  const integration::TempDir folder;
  const absl::StatusOr<DiskLatency> disk = MeasureDisk({.folder = folder.path(), .syncs = 20});
  ASSERT_TRUE(disk.ok()) << disk.status();
  EXPECT_EQ(disk->syncs, 20);
  EXPECT_GT(disk->p50.count(), 0);
  EXPECT_GE(disk->p99, disk->p50);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(MeasureDisk, TellsWhatItCannot) {
  const integration::TempDir folder;
  EXPECT_FALSE(MeasureDisk({.folder = folder.Path("missing")}).ok());
  EXPECT_FALSE(MeasureDisk({.folder = folder.path(), .syncs = 0}).ok());
}

}  // namespace
}  // namespace onced::bench
