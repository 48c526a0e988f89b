// The power fails, again and again, under load.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fault/checker.h"
#include "tests/fault/history.h"
#include "tests/fault/load.h"
#include "tests/fault/machine/book.h"
#include "tests/fault/machine/faulty_server.h"
#include "tests/integration/server_process.h"

namespace onced::fault {
namespace {

// Lives, each ended by a loss of power. Small buffers, so that files come and go.
class PowerLoss : public testing::Test {
 protected:
  PowerLoss() : history_(seed_), load_({.seed = seed_}, history_) {
    std::cout << "ONCED_FAULT_SEED=" << seed_ << std::endl;
    dir_.Write("onced.yaml", LoadConfig());
  }

  std::unique_ptr<Started> Start(const std::string& durability) {
    const std::vector<std::string> args =
        ServerArgs(FaultyBinary(), dir_.Path("data"),
                   {"--lose-unsynced", dir_.Path("unsynced"), "--seed", absl::StrCat(random_()),
                    "--shards", "16", "--memory-budget", "64MiB", "--restart-grace", "0s",
                    "--durability", durability, "--config", dir_.Path("onced.yaml")});
    auto server = std::make_unique<Started>(args);
    if (!server->serving()) throw std::runtime_error(server->process().err().AllText());
    return server;
  }

  Verdict Run(const std::string& durability, int cycles) {
    for (int cycle = 0; cycle < cycles && !HasFailure(); ++cycle) {
      const std::unique_ptr<Started> server = Start(durability);
      load_.ServerUp(server->address());
      EXPECT_TRUE(load_.AwaitAnswers(20 + random_() % 400));
      server->process().Signal(SIGKILL);
      server->process().Wait();
      load_.ServerDown();
      std::cout << "life " << cycle << " " << server->process().out().AllText() << std::flush;
    }
    const std::unique_ptr<Started> last = Start(durability);
    load_.ServerUp(last->address());
    load_.Stop();
    EXPECT_TRUE(load_.ReadBack());
    last->process().Signal(SIGTERM);
    EXPECT_EQ(last->process().Wait(), 0);
    const auto run = history_.Copy();
    const Verdict verdict = Check(run, LoadRules());
    const bool expected = verdict.broken.empty() == (durability == "fsync");
    if (!expected) KeepHistory(run);
    std::cout << run.calls.size() << " calls on " << verdict.keys << " keys, "
              << verdict.too_hard.size() << " too hard to place" << std::endl;
    return verdict;
  }

  void KeepHistory(const Recording& run) const {
    const std::string path = absl::StrCat(testing::TempDir(), "onced-fault-", seed_, ".history");
    std::ofstream(path) << ToText(run);
    std::cout << "Check it again:  ONCED_FAULT_HISTORY=" << path
              << " build/bin/fault_checker_test --gtest_filter=*Kept*" << std::endl;
  }

  const std::uint64_t seed_ = RunSeed();
  std::mt19937_64 random_{seed_};
  const integration::TempDir dir_;
  History history_;
  Load load_;
};

TEST_F(PowerLoss, LosesNothingThatWasSynced) {
  const Verdict verdict = Run("fsync", RunCycles(15));
  EXPECT_THAT(verdict.broken, testing::IsEmpty()) << ToText(verdict);
}

// So that the test above can fail: here the same loss of power has to show.
TEST_F(PowerLoss, ShowsWhereWritesAreNotSynced) {
  const Verdict verdict = Run("process", RunCycles(15));
  const auto says = [](const char* rule) { return testing::HasSubstr(rule); };
  EXPECT_THAT(verdict.broken,
              testing::Contains(testing::AnyOf(says("an acknowledged grant is lost"),
                                               says("an acknowledged commit is lost"),
                                               says("an acknowledged commit is undone"))));
  std::cout << verdict.broken.size() << " rules broken, such as:\n"
            << (verdict.broken.empty() ? "" : verdict.broken.front()) << std::endl;
}

// ---- In place of each operation on a file, while the server starts ----

class PowerLossAtStart : public testing::Test {
 protected:
  PowerLossAtStart() { std::cout << "ONCED_FAULT_SEED=" << seed_ << std::endl; }

  std::vector<std::string> Args(const integration::TempDir& dir,
                                const std::vector<std::string>& flags) {
    std::vector<std::string> all = SmallStore();
    all.insert(all.end(), {"--lose-unsynced", dir.Path("unsynced"), "--seed",
                           absl::StrCat(random_() % 1'000'000), "--trace", dir.Path("trace")});
    all.insert(all.end(), flags.begin(), flags.end());
    return ServerArgs(FaultyBinary(), dir.Path("data"), all);
  }
  // Serves, and is killed then; how many operations it took to get there.
  static std::size_t CountOperations(const integration::TempDir& dir,
                                     const std::vector<std::string>& args) {
    Started server(args);
    if (!server.serving()) throw std::runtime_error(server.process().err().AllText());
    const std::size_t count = integration::LinesOf(integration::ReadFile(dir.Path("trace"))).size();
    server.process().Signal(SIGKILL);
    server.process().Wait();
    return count;
  }
  // All of them, or as many as the run may take.
  std::vector<std::size_t> Moments(std::size_t count) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{1});
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(std::min(count, static_cast<std::size_t>(RunCycles(25))));
    return all;
  }
  void DieAt(std::size_t moment, const integration::TempDir& dir) {
    const std::vector<std::string> args =
        Args(dir, {"--die-at", absl::StrCat(moment), "--armed-by", "/"});
    std::cout << "operation " << moment << ": ";
    Started dying(args);
    if (dying.serving()) dying.process().Signal(SIGKILL);  // It took fewer this time.
    EXPECT_EQ(dying.process().Wait(), 128 + SIGKILL);
  }

  const std::uint64_t seed_ = RunSeed();
  std::mt19937_64 random_{seed_};
};

TEST_F(PowerLossAtStart, OfANewStoreLeavesOneThatCanBeMade) {
  const integration::TempDir whole;
  const std::size_t count = CountOperations(whole, Args(whole, {}));
  std::cout << count << " operations" << std::endl;
  for (const std::size_t moment : Moments(count)) {
    SCOPED_TRACE(absl::StrCat("operation ", moment));
    const integration::TempDir dir;
    DieAt(moment, dir);
    Started server(Args(dir, {}));
    EXPECT_TRUE(server.serving()) << server.process().err().AllText();
    std::cout << server.process().out().Text() << std::endl;
  }
}

TEST_F(PowerLossAtStart, LosesNothing) {
  const integration::TempDir whole;
  Book book;
  for (int life = 0; life < 4; ++life) {
    Started server(ServerArgs(integration::ServerBinary(), whole.Path("data"), SmallStore()));
    ASSERT_TRUE(server.serving());
    integration::Api api(integration::ConnectTo(server.address()));
    for (int i = 0; i < 5; ++i) {
      const std::string key = absl::StrCat(life, "-", i);
      ASSERT_EQ(book.Grant(api, key), Book::kDone);
      ASSERT_EQ(book.Commit(api, key, "body of " + key), Book::kDone);
    }
    server.process().Signal(SIGKILL);
    server.process().Wait();
  }
  const integration::TempDir counted;
  CopyDirectory(whole.Path("data"), counted.Path("data"));
  const std::size_t count = CountOperations(counted, Args(counted, {}));
  std::cout << count << " operations" << std::endl;
  for (const std::size_t moment : Moments(count)) {
    SCOPED_TRACE(absl::StrCat("operation ", moment));
    const integration::TempDir dir;
    CopyDirectory(whole.Path("data"), dir.Path("data"));
    DieAt(moment, dir);
    Started server(Args(dir, {}));
    ASSERT_TRUE(server.serving()) << server.process().err().AllText();
    std::cout << server.process().out().Text() << std::endl;
    integration::Api api(integration::ConnectTo(server.address()));
    EXPECT_THAT(book.Check(api).lost, testing::IsEmpty());
    EXPECT_THAT(book.Check(api).refused, testing::IsEmpty());
  }
}

}  // namespace
}  // namespace onced::fault
