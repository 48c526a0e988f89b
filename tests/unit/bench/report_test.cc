#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/bench/report/goals.h"
#include "tests/bench/report/markdown.h"
#include "tests/bench/report/tables.h"
#include "tests/bench/suite/suite.h"

namespace onced::bench {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

const Goal& GoalAbout(const std::vector<Goal>& goals, const std::string& words) {
  for (const Goal& goal : goals) {
    if (goal.what.find(words) != std::string::npos) return goal;
  }
  throw std::runtime_error("no goal about " + words);
}

TEST(Goals, AreAllThereWithoutResults) {
  const std::vector<Goal> goals = JudgeGoals({});
  EXPECT_EQ(goals.size(), 16U);
  EXPECT_THAT(goals, Each(Field(&Goal::verdict, Verdict::kNotMeasured)));
}

struct Row {
  const char* name;
  const char* about;
  std::vector<std::pair<Cell, Sample>> samples;
  const char* measured;
  Verdict verdict;
};

const Cell kOnced1{.table = kFreshTable, .peer = "onced-unary", .callers = 1, .connections = 1};
const Cell kEcho1{.table = kFreshTable, .peer = "echo", .callers = 1, .connections = 1};
const Cell kOnced64{.table = kFreshTable, .peer = "onced-unary"};
const Cell kEcho64{.table = kFreshTable, .peer = "echo"};
const Cell kDisk{.table = kFreshTable, .peer = kDiskPeer};
const Cell kBatch{.table = kBatchTable, .peer = "onced-batch"};
const Cell kBatchEcho{.table = kBatchTable, .peer = "echo-batch"};
const Cell kRocks{.table = kBatchTable, .peer = kRocksPeer};
const Cell kRedis{.table = kBatchTable, .peer = "redis-aof-always"};
const Cell kOwn{.table = kWriterTable, .peer = "onced-unary", .variant = kOwnWriter};
const Cell kOther{.table = kWriterTable, .peer = "onced-unary", .variant = kOtherWriter};
const Cell kMany{.table = kSizeTable, .peer = "onced-unary", .variant = kManyRecords};
const Cell kCalm{.table = kSweepTable, .peer = "onced-unary", .variant = kQuiet};
const Cell kSwept{.table = kSweepTable, .peer = "onced-unary", .variant = kSweeping};
const Cell kReplay1{.table = kWorkloadTable,
                    .peer = "onced-unary",
                    .workload = "replays",
                    .callers = 1,
                    .connections = 1};

const Row kRows[] = {
    {"unary_met",
     "64 callers, 2 connections",
     {{kOnced64, {.per_second = 80}}, {kEcho64, {.per_second = 100}}},
     "0.80",
     Verdict::kMet},
    {"unary_missed",
     "64 callers, 2 connections",
     {{kOnced64, {.per_second = 79}}, {kEcho64, {.per_second = 100}}},
     "0.79",
     Verdict::kMissed},
    {"syncs",
     "p50s of one fdatasync",
     {{kOnced1, {.p50 = 480}}, {kEcho1, {.p50 = 80}}, {kDisk, {.p50 = 400}}},
     "1.00",
     Verdict::kMet},
    {"syncs_missed",
     "p50s of one fdatasync",
     {{kOnced1, {.p50 = 880}}, {kEcho1, {.p50 = 80}}, {kDisk, {.p50 = 400}}},
     "2.00",
     Verdict::kMissed},
    {"tail", "p99 to its own p50", {{kOnced1, {.p50 = 100, .p99 = 410}}}, "4.1", Verdict::kMissed},
    {"batch_by_echo",
     "Batch of 64, all fresh",
     {{kBatch, {.per_second = 70}},
      {kBatchEcho, {.per_second = 100}},
      {kRocks, {.per_second = 900}}},
     "0.70",
     Verdict::kMet},
    {"batch_by_rocks",
     "Batch of 64, all fresh",
     {{kBatch, {.per_second = 60}},
      {kBatchEcho, {.per_second = 900}},
      {kRocks, {.per_second = 100}}},
     "0.60",
     Verdict::kMissed},
    {"an_aim_is_not_missed",
     "AOF always",
     {{kBatch, {.per_second = 2}}, {kRedis, {.per_second = 1}}},
     "2.00",
     Verdict::kReported},
    {"writer",
     "a writer beside",
     {{kOwn, {.p50 = 13}}, {kOther, {.p50 = 10}}},
     "1.30",
     Verdict::kMissed},
    {"replay", "Replay, 1 caller", {{kReplay1, {.p50 = 130}}}, "0.13 ms", Verdict::kMet},
    {"memory", "Memory", {{kMany, {.memory = 601.0 * (1 << 20)}}}, "601 MiB", Verdict::kMissed},
    {"sweep",
     "the sweeper",
     {{kSwept, {.p99 = 9'000}}, {kCalm, {.p99 = 4'500}}},
     "4.50 ms",
     Verdict::kMet},
};

TEST(Goals, AreJudgedByTheirRows) {
  for (const Row& row : kRows) {
    Results results;
    for (const auto& [cell, sample] : row.samples) results.Add(cell, sample);
    const std::vector<Goal> goals = JudgeGoals(results);
    const Goal& goal = GoalAbout(goals, row.about);
    EXPECT_EQ(goal.measured, row.measured) << row.name;
    EXPECT_EQ(ToText(goal.verdict), ToText(row.verdict)) << row.name;
  }
}

Results Some() {
  Results results;
  results.Add(kEcho64, {.per_second = 29'876, .p50 = 1'234, .p99 = 15'400});
  results.Add(kOnced64, {.per_second = 14'938, .p50 = 2'468, .p99 = 30'800});
  results.Skip({.table = kFreshTable, .peer = "postgres"}, "there is no initdb");
  return results;
}

TEST(Markdown, ShowsRowsRatiosAndWhatWasSkipped) {
  const Results results = Some();
  const std::string text = ToMarkdown({.results = results,
                                       .command = "make bench",
                                       .how = "once",
                                       .versions = {{"echo", "gRPC 1"}}});
  EXPECT_THAT(text, HasSubstr("| echo | 64 | 2 | 29,900 | 1.23 |  | 15 |  |  | 1.00 |\n"));
  EXPECT_THAT(text, HasSubstr("| onced-unary | 64 | 2 | 14,900 | 2.47 |  | 31 |  |  | 0.50 |\n"));
  EXPECT_THAT(text, HasSubstr("| postgres | 64 | 2 | skipped: there is no initdb |"));
  EXPECT_THAT(text, HasSubstr("`make bench`: once"));
  EXPECT_THAT(text, HasSubstr("echo: gRPC 1"));
  EXPECT_THAT(text, Not(HasSubstr("Other workloads")));
}

TEST(Markdown, HasAsManyColumnsInEachRow) {
  const Results results = Some();
  const std::string text = ToMarkdown({.results = results});
  std::istringstream lines(text);
  std::set<std::ptrdiff_t> bars;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') bars.clear();
    if (!line.empty() && line[0] == '|') bars.insert(std::count(line.begin(), line.end(), '|'));
    EXPECT_LE(bars.size(), 1U) << line;
  }
}

TEST(Csv, HasALineForEachRowThatWasMeasured) {
  const std::string text = ToCsv(Some());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_THAT(text, HasSubstr("fresh,echo,fresh,,64,2,1,0,29876,1234,0,15400,"));
}

TEST(Splice, ReplacesThePartAndNothingElse) {
  const std::string before = std::string("a\n") + kPartBegin + "\nold\n" + kPartEnd + "\nb\n";
  const auto after = Splice(before, "new\n");
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(*after, std::string("a\n") + kPartBegin + "\n\nnew\n" + kPartEnd + "\nb\n");
  EXPECT_EQ(*Splice(*after, "new\n"), *after);
  EXPECT_FALSE(Splice("a\n", "new\n").ok());
}

TEST(Completeness, MissesATableAndARow) {
  Results results = Some();
  EXPECT_TRUE(CheckComplete(results, {.tables = {kFreshTable}}).ok());
  EXPECT_FALSE(CheckComplete(results, {.tables = {kFreshTable, kBatchTable}}).ok());
  results.Add({.table = kFreshTable, .peer = "forgotten"});
  EXPECT_FALSE(CheckComplete(results, {.tables = {kFreshTable}}).ok());
}

}  // namespace
}  // namespace onced::bench
