#include "tests/fault/kill/campaign.h"

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/fault/evidence.h"

namespace onced::fault {
namespace {

using integration::Process;

std::uint64_t FromEnvironment(const char* name, std::uint64_t preset) {
  const char* text = std::getenv(name);
  std::uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : preset;
}

// When a process dies is the point here, not something to wait for.
void Moment(std::uint64_t micros) {
  std::this_thread::sleep_for(std::chrono::microseconds(micros));
}

}  // namespace

int CyclesOr(int preset) {
  return static_cast<int>(
      FromEnvironment("ONCED_FAULT_CYCLES", static_cast<std::uint64_t>(preset)));
}

std::uint64_t SeedOrDrawn() {
  return FromEnvironment("ONCED_FAULT_SEED", std::random_device()() % 1'000'000);
}

Campaign::Campaign(integration::ServerProcess::Options options, int clients)
    : seed_(SeedOrDrawn()),
      random_(seed_),
      server_(Configured(std::move(options))),
      history_(seed_),
      load_({.seed = seed_, .clients = clients}, history_) {
  std::printf("ONCED_FAULT_SEED=%llu\n", static_cast<unsigned long long>(seed_));
  load_.ServerUp(server_.address());
}

integration::ServerProcess::Options Campaign::Configured(
    integration::ServerProcess::Options options) {
  options.config = LoadConfig();
  // Short, so that there are takeovers between two ends.
  options.flags.insert(options.flags.end(), {"--restart-grace", "200ms"});
  return options;
}

void Campaign::SomeLoad() {
  ASSERT_TRUE(load_.AwaitAnswers(20 + Below(400))) << "the server answers no more";
  Moment(Below(5'000));
}

void Campaign::Kill() {
  server_.Kill9();
  load_.ServerDown();
}

void Campaign::Terminate() {
  EXPECT_EQ(server_.Stop(), 0) << server_.Log();
  load_.ServerDown();
}

void Campaign::KillInTheDrain() {
  server_.process().Signal(SIGTERM);
  Moment(Below(60'000));
  Kill();
}

void Campaign::StartAndKill() {
  load_.ServerStarts();
  Process early(server_.Command());
  Moment(Below(250'000));
  early.Signal(SIGKILL);
  EXPECT_EQ(early.Wait(), 128 + SIGKILL) << early.err().AllText();
  load_.ServerDown();
}

void Campaign::Start() {
  load_.ServerStarts();
  server_.Start();
  load_.ServerUp(server_.address());
}

void Campaign::Pause() {
  server_.process().Signal(SIGSTOP);
  Moment(Below(2'000'000));
  server_.process().Signal(SIGCONT);
}

Verdict Campaign::JudgeAsIfUnansweredDidNothing() const {
  Recording run = history_.Copy();
  for (Call& call : run.calls) {
    if (MayBeDone(call)) call.answer.status = Status::kFail;
  }
  return Check(run, LoadRules());
}

Verdict Campaign::Judge() {
  load_.Stop();
  EXPECT_TRUE(load_.ReadBack()) << "the server doesn't answer";
  const Recording run = history_.Copy();
  Verdict verdict = Check(run, LoadRules());
  std::map<std::string, int> said;
  for (const Call& call : run.calls) {
    ++said[Judged(call) ? NameOf(call.answer.said) : call.answer.reason];
  }
  std::printf("%zu calls on %llu keys, at most %llu on one, ordered in at most %llu steps;",
              run.calls.size(), static_cast<unsigned long long>(verdict.keys),
              static_cast<unsigned long long>(verdict.longest),
              static_cast<unsigned long long>(verdict.hardest));
  for (const auto& [what, count] : said) std::printf(" %s %d", what.c_str(), count);
  std::printf("; %zu keys too hard to order\n", verdict.too_hard.size());
  return verdict;
}

void Campaign::Finish() {
  const Verdict verdict = Judge();
  EXPECT_TRUE(verdict.broken.empty()) << ToText(verdict);
  EXPECT_LE(verdict.too_hard.size(), verdict.keys / 200) << "too hard to put into order";
  for (const Call& call : history_.Copy().calls) {
    // The load breaks no other rule, and asks for less than would be refused.
    if (!Refused(call)) continue;
    // After a pause the oldest in a queue has waited too long: queue_wait_max.
    if (call.answer.reason == "QUEUE_FULL") continue;
    EXPECT_EQ(call.answer.reason, "DRAINING") << Describe(call);
  }
  if (testing::Test::HasFailure()) KeepHistory(history_.Copy());
}

void Campaign::KeepHistory(const Recording& run) const {
  const char* folder = std::getenv("TMPDIR");
  const std::string path =
      absl::StrCat(folder != nullptr ? folder : "/tmp", "/onced-fault-", seed_, ".history");
  std::ofstream(path) << ToText(run);
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  std::printf(
      "Do it again:     ONCED_FAULT_SEED=%llu build/bin/fault_kill_test --gtest_filter=%s.%s\n"
      "Check it again:  ONCED_FAULT_HISTORY=%s build/bin/fault_checker_test "
      "--gtest_filter=*Kept*\n",
      static_cast<unsigned long long>(seed_), info->test_suite_name(), info->name(), path.c_str());
}

}  // namespace onced::fault
