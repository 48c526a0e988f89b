// A disk that fills up, and is emptied again.
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/server_process.h"
#include "tests/integration/temp_dir.h"

namespace onced::integration {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

void ExpectDiskFull(Api& api, const std::string& key) {
  const Error error = api.Reserve(ReserveOf(key)).error();
  EXPECT_EQ(error.code, grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.reason, "DISK_FULL");
  EXPECT_NE(error.retry_delay, std::nullopt);
}

TEST(DiskFloor, RefusesGrantsAlone) {
  ServerProcess server;
  std::string held;
  {
    Api api(server.Connect());
    const v1::Reservation done = api.Grant("done");
    api.Commit("done", done.token(), ResultOf(200, "x"));
    held = api.Grant("held").token();
  }
  server.options().flags = {"--disk-floor", "1024GiB"};  // More than a test machine has.
  ASSERT_EQ(server.Stop(), 0);
  server.Start();
  Api api(server.Connect());
  ExpectDiskFull(api, "another");
  EXPECT_EQ(api.Reserve("done").outcome(), v1::OUTCOME_REPLAYED);
  EXPECT_EQ(api.Reserve("held").outcome(), v1::OUTCOME_CONFLICT);
  api.Extend("held", held, absl::Minutes(5));
  api.Commit("held", held, ResultOf(200, "y"));
  EXPECT_EQ(api.Inspect("held").state(), v1::STATE_COMMITTED);
  EXPECT_EQ(server.Get("/readyz").status, 200) << "those who settle must get through";
  EXPECT_THAT(server.Get("/readyz").body, testing::HasSubstr("disk"));
  EXPECT_EQ(server.GetMetrics().at("idempotency_disk_low"), 1);
}

// A small file system of its own, in memory.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = mount("none", path.c_str(), "tmpfs", 0, "size=128m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  const std::string path_;
  bool mounted_ = false;
};

TEST(DiskFloor, IsNoticedAndLeftWithoutARestart) {
  const TempDir dir;
  const SmallDisk disk(dir.Path("disk"));
  if (!disk.mounted()) GTEST_SKIP() << "can't mount a file system: " << std::strerror(errno);
  ServerProcess server({.flags = {"--disk-floor", "48MiB"}, .data_dir = dir.Path("disk/data")});
  Api api(server.Connect());
  const v1::Reservation before = api.Grant("before");

  const std::string ballast = dir.Path("disk/ballast");
  const std::size_t free = std::filesystem::space(dir.Path("disk")).available;
  ASSERT_GT(free, 48 * kMiB);
  std::ofstream(ballast) << std::string(free - 40 * kMiB, 'x');
  ExpectDiskFull(api, "another");
  api.Commit("before", before.token(), ResultOf(200, "done"));

  std::filesystem::remove(ballast);
  EXPECT_EQ(api.Reserve("another").outcome(), v1::OUTCOME_FRESH);
  EXPECT_EQ(api.Reserve("before").outcome(), v1::OUTCOME_REPLAYED);
  EXPECT_EQ(server.Stop(), 0);
}

// No floor, and a disk that is full: a write fails, and nobody knows whether it
// landed. Then the process ends, and what it had acknowledged is there.
TEST(FullDisk, EndsTheServerAndLosesNothingAcknowledged) {
  const TempDir dir;
  const SmallDisk disk(dir.Path("disk"));
  if (!disk.mounted()) GTEST_SKIP() << "can't mount a file system: " << std::strerror(errno);
  ServerProcess server({.flags = {"--disk-floor", "0", "--shards", "1", "--restart-grace", "0s"},
                        .data_dir = dir.Path("disk/data")});
  const v1::Result big = ResultOf(200, std::string(kMiB, 'x'));
  int acknowledged = 0;
  Error error;
  {
    Api api(server.Connect());
    const std::string ballast = dir.Path("disk/ballast");
    const std::size_t free = std::filesystem::space(dir.Path("disk")).available;
    std::ofstream(ballast) << std::string(free - 8 * kMiB, 'x');
    for (;; ++acknowledged) {
      ASSERT_LT(acknowledged, 200) << "the disk does not get full";
      const std::string key = "k" + std::to_string(acknowledged);
      const auto reserved = api.Reserve(ReserveOf(key));
      if (!reserved.ok()) {
        error = reserved.error();
        break;
      }
      const std::string token = reserved.response.reservation().token();
      const auto committed = api.Commit(CommitOf(key, token, big));
      if (!committed.ok()) {
        error = committed.error();
        break;
      }
    }
  }
  EXPECT_EQ(error.code, grpc::UNAVAILABLE);
  EXPECT_EQ(error.reason, "OUTCOME_UNKNOWN");
  EXPECT_EQ(server.process().Wait(), 1) << server.Log();
  EXPECT_THAT(server.Log(), testing::HasSubstr("store_failed"));

  std::filesystem::remove(dir.Path("disk/ballast"));
  server.Start();
  Api api(server.Connect());
  for (int i = 0; i < acknowledged; ++i) {
    const v1::ReserveResponse replay = api.Reserve("k" + std::to_string(i));
    ASSERT_EQ(replay.outcome(), v1::OUTCOME_REPLAYED) << i;
    ASSERT_EQ(replay.replay().result().body(), big.body()) << i;
  }
  EXPECT_EQ(server.Stop(), 0);
}

}  // namespace
}  // namespace onced::integration
