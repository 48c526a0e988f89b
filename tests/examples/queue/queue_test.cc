// The queue at work: consumers that are killed, entries that are there twice, jobs that can't be
// done; with a real Redis and a real onced.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/examples/queue/job_queue.h"
#include "client/examples/queue/shipping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/queue/redis_server.h"
#include "tests/integration/server_process.h"

namespace onced::examples {
namespace {

using integration::Process;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kJobs = 200;
constexpr int kConsumers = 4;
constexpr int kKills = 40;

// Consumers, of which there are always as many: who dies is replaced.
// Threads: one.
class Consumers {
 public:
  explicit Consumers(std::vector<std::string> argv) : argv_(std::move(argv)) {
    for (std::unique_ptr<Process>& consumer : consumers_) consumer = Start();
  }

  void Kill(std::size_t which) {
    consumers_[which]->Signal(SIGKILL);
    consumers_[which]->Wait();
    Replace(which);
  }
  // Those that a job has killed.
  void ReplaceDead() {
    for (std::size_t i = 0; i < std::size(consumers_); ++i) {
      try {
        consumers_[i]->Wait(std::chrono::milliseconds(0));
      } catch (const std::exception&) {
        continue;  // It lives.
      }
      Replace(i);
    }
  }
  // How often a job was taken over, as they tell.
  int Stop() {
    for (const auto& consumer : consumers_) consumer->Signal(SIGTERM);
    for (std::size_t i = 0; i < std::size(consumers_); ++i) {
      EXPECT_EQ(consumers_[i]->Wait(), 0) << consumers_[i]->err().AllText();
      Keep(*consumers_[i]);
    }
    return takeovers_;
  }

 private:
  std::unique_ptr<Process> Start() {
    std::vector<std::string> argv = argv_;
    argv.push_back(absl::StrCat("--name=c", ++started_));
    return std::make_unique<Process>(Process::Command{.argv = argv});
  }
  void Replace(std::size_t which) {
    Keep(*consumers_[which]);
    consumers_[which] = Start();
  }
  void Keep(Process& ended) {
    for (const std::string& line : integration::LinesOf(ended.err().AllText())) {
      takeovers_ += line.find("taken over") != std::string::npos ? 1 : 0;
    }
  }

  const std::vector<std::string> argv_;
  int started_ = 0;
  int takeovers_ = 0;
  std::unique_ptr<Process> consumers_[kConsumers];
};

// What the carrier was made to do.
struct Shipped {
  std::vector<int> steps;  // In the order of the orders.
  std::vector<std::int64_t> fences;
};
std::map<std::string, Shipped> ReadOrders(const std::string& path) {
  std::map<std::string, Shipped> all;
  std::ifstream file(path);
  std::string job;
  int step = 0;
  std::int64_t fence = 0;
  while (file >> job >> step >> fence) {
    all[job].steps.push_back(step);
    all[job].fences.push_back(fence);
  }
  return all;
}

class QueueTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "redis-server isn't installed";
    redis_ = std::make_unique<RedisServer>();
    const char* given = std::getenv("ONCED_TEST_SEED");
    seed_ = given != nullptr ? std::strtoul(given, nullptr, 10) : std::random_device()();
    std::cout << "ONCED_TEST_SEED=" << seed_ << std::endl;
    random_.seed(seed_);
  }
  std::size_t Draw(std::size_t below) { return random_() % below; }

  std::vector<std::string> Command() const {
    return {ONCED_BIN_DIR "/example_queue",
            "--redis=" + redis_->address(),
            "--onced=" + onced_.address(),
            "--carrier=" + orders_,
            "--carrier_delay=10ms",
            "--lease=1s",
            "--idle=1s",
            "--attempts=4"};
  }
  std::size_t OrdersGiven() const {
    std::ifstream file(orders_);
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }
  std::int64_t Pending(Redis& redis) {
    return (*redis.Call({"XPENDING", "jobs", "shippers"}))->element[0]->integer;
  }
  // Whether every entry was handed to somebody and is acknowledged.
  bool IsDrained(Redis& redis) {
    const auto groups = redis.Call({"XINFO", "GROUPS", "jobs"});
    const redisReply& group = *(*groups)->element[0];
    for (std::size_t i = 0; i + 1 < group.elements; i += 2) {
      if (TextOf(*group.element[i]) == "lag" && group.element[i + 1]->integer != 0) return false;
    }
    return Pending(redis) == 0;
  }

  std::unique_ptr<RedisServer> redis_;
  integration::ServerProcess onced_;
  const integration::TempDir dir_;
  const std::string orders_ = dir_.Path("orders");
  std::mt19937::result_type seed_ = 0;
  std::mt19937 random_;
};

TEST_F(QueueTest, EachJobIsDoneOnceWhoeverDies) {
  auto queue = JobQueue::Open(redis_->address(), {.consumer = "producer"});
  ASSERT_TRUE(queue.ok()) << queue.status();
  auto probe = Redis::Connect(redis_->address());
  ASSERT_TRUE(probe.ok()) << probe.status();
  Consumers consumers(Command());
  const auto add = [&](const std::string& job, const std::string& payload) {
    ASSERT_TRUE(queue->Add(job, payload).ok());
    consumers.ReplaceDead();
  };

  add("bomb", "explosive");
  add("lost", "nowhere");
  int killed = 0;
  for (int i = 0; i < kJobs; ++i) {
    const std::string job = absl::StrCat("job-", i);
    add(job, "Main Street 1");
    if (Draw(4) == 0) add(absl::StrCat("job-", Draw(i + 1)), "Main Street 1");  // Again.
    if (i % (kJobs / kKills) != 0) continue;
    // At work: so many more orders were given that somebody has more to do than is queued.
    const std::size_t before = OrdersGiven();
    integration::Await("more orders", [&] {
      consumers.ReplaceDead();
      return OrdersGiven() > before || IsDrained(*probe);
    });
    consumers.Kill(Draw(kConsumers));
    ++killed;
  }
  integration::Await("the queue to be empty", [&] {
    consumers.ReplaceDead();
    return IsDrained(*probe);
  });
  const int takeovers = consumers.Stop();

  std::map<std::string, Shipped> orders = ReadOrders(orders_);
  int over_two_runs = 0;
  for (int i = 0; i < kJobs; ++i) {
    const Shipped& shipped = orders[absl::StrCat("job-", i)];
    EXPECT_THAT(shipped.steps, ElementsAre(0, 1, 2)) << "job-" << i;
    EXPECT_TRUE(std::is_sorted(shipped.fences.begin(), shipped.fences.end())) << "job-" << i;
    if (!shipped.fences.empty() && shipped.fences.front() != shipped.fences.back()) ++over_two_runs;
  }
  EXPECT_THAT(orders["bomb"].steps, ElementsAre(0));
  EXPECT_THAT(orders["lost"].steps, IsEmpty());
  const auto dead = probe->Call({"XLEN", "jobs-dead"});
  EXPECT_EQ((*dead)->integer, 2);  // The bomb, and the lost one.
  EXPECT_GE(takeovers, 4);         // The bomb's at the least.
  std::cout << kJobs << " jobs, " << killed << " kills, " << takeovers << " takeovers, "
            << over_two_runs << " jobs whose steps are of several runs" << std::endl;
}

}  // namespace
}  // namespace onced::examples
