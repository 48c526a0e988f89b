// The example of a queue, as somebody takes it away to make something of it.
#include <filesystem>

#include "gmock/gmock.h"
#include "tests/examples/queue/redis_server.h"
#include "tests/package/project.h"

namespace onced::integration {
namespace {

using testing::MatchesRegex;

class QueueProjectTest : public ProjectTest {};

TEST_F(QueueProjectTest, IsAProjectOfItsOwn) {
  if (!ONCED_HAS_HIREDIS) GTEST_SKIP() << "hiredis isn't installed";
  if (!examples::RedisServer::IsInstalled()) GTEST_SKIP() << "redis-server isn't installed";
  ASSERT_NO_FATAL_FAILURE(Install());
  std::filesystem::copy(ONCED_SOURCE_DIR "/client/examples/queue", dir_.Path("queue"));
  ASSERT_NO_FATAL_FAILURE(Build("queue"));
  const examples::RedisServer redis;
  const std::vector<std::string> argv = {
      dir_.Path("queue/build/consumer"), "--redis=" + redis.address(),
      "--onced=" + server_.address(), "--carrier=" + dir_.Path("orders.txt")};
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> add = argv;
    add.insert(add.end(), {"--add=order-1", "--payload=Main Street 1"});
    const Finished added = integration::Run({.argv = add});
    ASSERT_EQ(added.exit_code, 0) << added.err;
  }
  Process consumer({.argv = argv});
  Await("the second entry to be seen", [&] {
    const Finished pending = integration::Run(
        {.argv = {"/usr/bin/redis-cli", "-s", redis.address(), "XINFO", "GROUPS", "jobs"}});
    return pending.out.find("pending\n0\n") != std::string::npos &&
           pending.out.find("entries-read\n2\n") != std::string::npos;
  });
  EXPECT_THAT(ReadFile(dir_.Path("orders.txt")),
              MatchesRegex("order-1 0 [0-9]+\norder-1 1 [0-9]+\norder-1 2 [0-9]+\n"));
  consumer.Signal(SIGTERM);
  EXPECT_EQ(consumer.Wait(), 0) << consumer.err().AllText();
}

}  // namespace
}  // namespace onced::integration
