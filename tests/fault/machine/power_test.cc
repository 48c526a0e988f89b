// The power fails, again and again, under load.
#include <signal.h>

#include <iostream>
#include <memory>
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
#include "tests/fault/machine/faulty_server.h"

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
    std::cout << run.calls.size() << " calls on " << verdict.keys << " keys, "
              << verdict.too_hard.size() << " too hard to place" << std::endl;
    return verdict;
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
  EXPECT_THAT(verdict.broken, testing::Not(testing::IsEmpty()));
  std::cout << verdict.broken.size() << " rules broken, such as:\n"
            << (verdict.broken.empty() ? "" : verdict.broken.front()) << std::endl;
}

}  // namespace
}  // namespace onced::fault
