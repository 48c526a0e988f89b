#include "tests/bench/report/goals.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "tests/bench/report/tables.h"

namespace onced::bench {
namespace {

constexpr double kMiB = 1 << 20;
constexpr char kNone[] = "not measured";

std::string Text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// One goal is a number that has to be at least, or at most, so much.
Goal AtLeast(std::string what, double asked, std::optional<double> value, const char* format) {
  return {.what = std::move(what),
          .asked = "at least " + Text(format, asked),
          .measured = value.has_value() ? Text(format, *value) : kNone,
          .verdict = !value.has_value() ? Verdict::kNotMeasured
                     : *value >= asked  ? Verdict::kMet
                                        : Verdict::kMissed};
}

Goal AtMost(std::string what, double asked, std::optional<double> value, const char* format) {
  return {.what = std::move(what),
          .asked = "at most " + Text(format, asked),
          .measured = value.has_value() ? Text(format, *value) : kNone,
          .verdict = !value.has_value() ? Verdict::kNotMeasured
                     : *value <= asked  ? Verdict::kMet
                                        : Verdict::kMissed};
}

// An aim, of which the figure is told and nothing more.
Goal Aim(std::string what, double aim, std::optional<double> value, const char* format) {
  Goal goal = AtLeast(std::move(what), aim, value, format);
  goal.asked = "aim: " + Text(format, aim);
  if (goal.verdict == Verdict::kMissed) goal.verdict = Verdict::kReported;
  return goal;
}

class Judge {
 public:
  explicit Judge(const Results& results) : results_(results) {}

  std::vector<Goal> All() const {
    std::vector<Goal> goals;
    AddUnary(goals);
    AddBatch(goals);
    AddReplays(goals);
    AddOthers(goals);
    return goals;
  }

 private:
  const Series* Fresh(const std::string& peer, int callers, int connections) const {
    return results_.Find([&](const Cell& cell) {
      return cell.table == kFreshTable && cell.peer == peer && cell.callers == callers &&
             (cell.connections == connections || peer == "postgres" || peer == kDiskPeer);
    });
  }
  const Series* Of(const std::string& table, const std::string& peer) const {
    return results_.Find(
        [&](const Cell& cell) { return cell.table == table && cell.peer == peer; });
  }
  const Series* Work(const std::string& peer, const std::string& workload, int callers) const {
    return results_.Find([&](const Cell& cell) {
      return cell.table == kWorkloadTable && cell.peer == peer && cell.workload == workload &&
             cell.callers == callers;
    });
  }
  const Series* Variant(const std::string& table, const std::string& variant) const {
    return results_.Find(
        [&](const Cell& cell) { return cell.table == table && cell.variant == variant; });
  }

  void AddUnary(std::vector<Goal>& goals) const {
    const Series* one = Fresh("onced-unary", 1, 1);
    const Series* echo = Fresh("echo", 1, 1);
    const Series* disk = Of(kFreshTable, kDiskPeer);
    goals.push_back(
        AtLeast("Reserve, all fresh, 64 callers, 2 connections: throughput to the echo's", 0.8,
                MedianRatio(Fresh("onced-unary", 64, 2), Fresh("echo", 64, 2), &Sample::per_second),
                "%.2f"));
    // How much more than an echo it takes, in syncs.
    std::optional<double> syncs;
    const auto more =
        MedianOfRounds(one, echo, [](const Sample& a, const Sample& b) { return a.p50 - b.p50; });
    const auto sync = MedianOf(disk, &Sample::p50);
    if (more.has_value() && sync.has_value() && *sync > 0) syncs = *more / *sync;
    goals.push_back(AtMost("Reserve, 1 caller: p50 above the echo's, in p50s of one fdatasync", 1.3,
                           syncs, "%.2f"));
    std::optional<double> tail;
    if (one != nullptr) {
      tail = MedianOfRounds(one, one, [](const Sample& a, const Sample&) { return a.p99 / a.p50; });
    }
    goals.push_back(AtMost("Reserve, 1 caller: p99 to its own p50", 4, tail, "%.1f"));
    const auto p50 = MedianOf(one, &Sample::p50);
    goals.push_back(AtMost("Reserve, 1 caller: p50", 2,
                           p50.has_value() ? std::optional(*p50 / 1e3) : std::nullopt, "%.2f ms"));
  }

  void AddBatch(std::vector<Goal>& goals) const {
    const Series* batch = Of(kBatchTable, "onced-batch");
    const Series* echo = Of(kBatchTable, "echo-batch");
    const Series* rocks = Of(kBatchTable, kRocksPeer);
    const auto to_echo = MedianRatio(batch, echo, &Sample::per_second);
    const auto to_rocks = MedianRatio(batch, rocks, &Sample::per_second);
    // To the smaller of two is the larger ratio.
    std::optional<double> to_smaller;
    if (to_echo.has_value() && to_rocks.has_value()) to_smaller = std::max(*to_echo, *to_rocks);
    goals.push_back(
        AtLeast("Batch of 64, all fresh: to the smaller of a Batch echo and RocksDB's own synced "
                "batches of 64",
                0.7, to_smaller, "%.2f"));
    const auto to = [&](const char* peer) {
      return MedianRatio(batch, Of(kBatchTable, peer), &Sample::per_second);
    };
    goals.push_back(Aim("Batch of 64: to Redis, pipelined by 64, AOF always", 3,
                        to("redis-aof-always"), "%.2f"));
    goals.push_back(Aim("Batch of 64: to Redis, pipelined by 64, no persistence", 1.2,
                        to("redis-no-persistence"), "%.2f"));
    goals.push_back(
        AtLeast("Session of messages of 64: to Batch", 1,
                MedianRatio(Of(kBatchTable, "onced-session"), batch, &Sample::per_second), "%.2f"));
  }

  void AddReplays(std::vector<Goal>& goals) const {
    goals.push_back(
        AtMost("Replays, 64 callers, a writer beside them: p50 to that with the writer "
               "at another process",
               1.2,
               MedianRatio(Variant(kWriterTable, kOwnWriter), Variant(kWriterTable, kOtherWriter),
                           &Sample::p50),
               "%.2f"));
    goals.push_back(AtLeast("Replays, 64 callers, no writer: throughput to the echo's", 0.85,
                            MedianRatio(Work("onced-unary", "replays", 64),
                                        Work("echo", "replays", 64), &Sample::per_second),
                            "%.2f"));
    const auto p50 = MedianOf(Work("onced-unary", "replays", 1), &Sample::p50);
    goals.push_back(AtMost("Replay, 1 caller: p50", 0.5,
                           p50.has_value() ? std::optional(*p50 / 1e3) : std::nullopt, "%.2f ms"));
  }

  void AddOthers(std::vector<Goal>& goals) const {
    goals.push_back(AtLeast("Reserve and Commit, 64 callers: throughput to PostgreSQL's", 2,
                            MedianRatio(Work("onced-unary", "pairs", 64),
                                        Work("postgres", "pairs", 64), &Sample::per_second),
                            "%.2f"));
    const Series* many = Variant(kSizeTable, kManyRecords);
    goals.push_back(
        AtLeast("Throughput with many live records to that with few", 0.8,
                MedianRatio(many, Variant(kSizeTable, kFewRecords), &Sample::per_second), "%.2f"));
    const auto memory = MedianOf(many, &Sample::memory);
    goals.push_back(AtMost("Memory with many live records", 600,
                           memory.has_value() ? std::optional(*memory / kMiB) : std::nullopt,
                           "%.0f MiB"));
    const auto more =
        MedianOfRounds(Variant(kSweepTable, kSweeping), Variant(kSweepTable, kQuiet),
                       [](const Sample& a, const Sample& b) { return (a.p99 - b.p99) / 1e3; });
    goals.push_back(AtMost("While the sweeper and a compaction run: p99 above the quiet one", 5,
                           more, "%.2f ms"));
    goals.push_back(Instructions());
  }

  // Reported, not judged: the next who looks for time starts here.
  Goal Instructions() const {
    const auto onced = MedianOf(Of(kInstructionsTable, "onced-unary"), &Sample::instructions);
    const auto echo = MedianOf(Of(kInstructionsTable, "echo"), &Sample::instructions);
    Goal goal{.what = "Instructions of a Reserve in the server, above the echo's",
              .asked = "reported",
              .measured = kNone};
    if (onced.has_value() && echo.has_value()) {
      goal.measured = absl::StrCat(Text("%.0f", *onced - *echo), " (", Text("%.0f", *onced),
                                   " and ", Text("%.0f", *echo), ")");
      goal.verdict = Verdict::kReported;
    }
    return goal;
  }

  const Results& results_;
};

}  // namespace

std::vector<Goal> JudgeGoals(const Results& results) { return Judge(results).All(); }

std::string ToText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMet:
      return "met";
    case Verdict::kMissed:
      return "missed";
    case Verdict::kReported:
      return "reported";
    case Verdict::kNotMeasured:
      return "not measured";
  }
  return "";
}

}  // namespace onced::bench
