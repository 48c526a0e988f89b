#include "tests/bench/report/markdown.h"

#include <cmath>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/bench/report/goals.h"
#include "tests/bench/report/tables.h"

namespace onced::bench {
namespace {

constexpr double kGiB = 1 << 30;

struct Title {
  const char* table;
  const char* title;
  const char* ceiling;  // To which ratios are taken; none: no such column.
};

constexpr Title kTitles[] = {
    {kFreshTable, "Reserve, every key a new one", "echo"},
    {kBatchTable, "Messages of 64 reserves, every key a new one", "echo-batch"},
    {kWorkloadTable, "Other workloads", "echo"},
    {kOpenTable, "Open loop: messages come at a fixed rate, and wait their turn", nullptr},
    {kWriterTable, "Replays beside a writer", nullptr},
    {kSizeTable, "Reserves at stores of different sizes", nullptr},
    {kSweepTable, "Pairs beside the sweeper and a compaction, open loop", nullptr},
};

// Of a throughput: three digits that count.
std::string Rounded(double value) {
  if (value <= 0) return "0";
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(value)) - 2));
  const auto whole = static_cast<std::int64_t>(std::round(value / unit) * unit);
  std::string digits = absl::StrCat(whole);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

// Microseconds as milliseconds.
std::string Millis(double micros) {
  char text[32];
  std::snprintf(text, sizeof text, micros < 9'995 ? "%.2f" : "%.0f", micros / 1e3);
  return text;
}

std::string Fixed(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string Row(const std::vector<std::string>& cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

// The ceiling's row that is otherwise like this one.
const Series* CeilingOf(const Results& results, const Cell& cell, const std::string& ceiling) {
  Cell wanted = cell;
  wanted.peer = ceiling;
  return results.Find([&](const Cell& other) { return other == wanted; });
}

// Which columns there are depends on the table.
class Table {
 public:
  Table(const Results& results, const Title& title)
      : results_(results), title_(title), rows_(results.Table(title.table)) {
    for (const Series* row : rows_) {
      has_workloads_ = has_workloads_ || row->cell.workload != rows_.front()->cell.workload;
      has_variants_ = has_variants_ || !row->cell.variant.empty();
      has_rates_ = has_rates_ || row->cell.rate > 0;
      has_memory_ = has_memory_ || (!row->samples.empty() && row->samples[0].memory > 0);
    }
  }

  std::string ToText() const {
    if (rows_.empty()) return "";
    std::string text = absl::StrCat("### ", title_.title, "\n\n", Row(Head()));
    text += Row(std::vector<std::string>(Head().size(), "---"));
    for (const Series* row : rows_) text += Row(Cells(*row));
    return text + "\n";
  }

 private:
  std::vector<std::string> Head() const {
    std::vector<std::string> head = {"server"};
    if (has_workloads_) head.push_back("workload");
    if (has_variants_) head.push_back("beside it");
    head.insert(head.end(), {"callers", "connections"});
    if (has_rates_) head.push_back("asked, messages/s");
    head.insert(head.end(), {"operations/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms",
                             "server's CPU, us an operation"});
    if (title_.ceiling != nullptr) head.push_back(absl::StrCat("to ", title_.ceiling));
    if (has_memory_) head.push_back("memory, MiB");
    return head;
  }

  std::vector<std::string> Cells(const Series& row) const {
    const Cell& cell = row.cell;
    std::vector<std::string> cells = {cell.peer};
    if (has_workloads_) cells.push_back(cell.workload);
    if (has_variants_) cells.push_back(cell.variant);
    cells.push_back(absl::StrCat(cell.callers));
    cells.push_back(cell.connections == 0 ? "" : absl::StrCat(cell.connections));
    if (has_rates_) cells.push_back(Rounded(cell.rate));
    if (row.samples.empty()) {
      cells.push_back(absl::StrCat("skipped: ", row.skipped));
      cells.resize(Head().size());
      return cells;
    }
    cells.push_back(Rounded(*MedianOf(&row, &Sample::per_second)));
    for (const Metric metric : {&Sample::p50, &Sample::p90, &Sample::p99, &Sample::p999}) {
      const double micros = *MedianOf(&row, metric);
      cells.push_back(micros > 0 ? Millis(micros) : "");
    }
    const double cpu = *MedianOf(&row, &Sample::server_cpu);
    cells.push_back(cpu > 0 ? Fixed(cpu, 1) : "");
    if (title_.ceiling != nullptr) cells.push_back(ToCeiling(row));
    if (has_memory_) cells.push_back(Fixed(*MedianOf(&row, &Sample::memory) / (1 << 20), 0));
    return cells;
  }

  std::string ToCeiling(const Series& row) const {
    const Series* ceiling = CeilingOf(results_, row.cell, title_.ceiling);
    const auto ratio = MedianRatio(&row, ceiling, &Sample::per_second);
    return ratio.has_value() ? Fixed(*ratio, 2) : "";
  }

  const Results& results_;
  const Title& title_;
  const std::vector<const Series*> rows_;
  bool has_workloads_ = false;
  bool has_variants_ = false;
  bool has_rates_ = false;
  bool has_memory_ = false;
};

std::string GoalTable(const Results& results) {
  std::string text = "### Asked and measured\n\n";
  text += Row({"what", "asked", "measured", ""});
  text += Row({"---", "---", "---", "---"});
  for (const Goal& goal : JudgeGoals(results)) {
    text += Row({goal.what, goal.asked, goal.measured, ToText(goal.verdict)});
  }
  return text + "\n";
}

std::string MachineTable(const Report& report) {
  const Machine& machine = report.machine;
  std::vector<std::string> versions;
  for (const auto& [name, version] : report.versions) {
    versions.push_back(absl::StrCat(name, ": ", version));
  }
  std::string text = Row({"measured on", ""}) + Row({"---", "---"});
  text += Row({"command", absl::StrCat("`", report.command, "`: ", report.how)});
  text += Row({"machine", absl::StrCat(machine.cores, " cores, ", machine.processor, ", ",
                                       Fixed(machine.memory_bytes / kGiB, 0), " GiB")});
  text += Row({"system", absl::StrCat(machine.kernel, ", ", machine.file_system)});
  text += Row({"servers", absl::StrJoin(versions, ", ")});
  const Series* disk = report.results.Find([](const Cell& c) { return c.peer == kDiskPeer; });
  if (const auto p50 = MedianOf(disk, &Sample::p50); p50.has_value()) {
    text += Row({"one fdatasync", absl::StrCat("p50 ", Millis(*p50), " ms, p99 ",
                                               Millis(*MedianOf(disk, &Sample::p99)), " ms")});
  }
  return text + "\n";
}

}  // namespace

std::string ToMarkdown(const Report& report) {
  std::string text = MachineTable(report) + GoalTable(report.results);
  for (const Title& title : kTitles) text += Table(report.results, title).ToText();
  return text;
}

std::string ToCsv(const Results& results) {
  std::string text =
      "table,server,workload,variant,callers,connections,steps,rate,per_second,p50_us,p90_us,"
      "p99_us,p999_us,server_cpu_us,load_cpu,memory_bytes,instructions\n";
  for (const Series& row : results.all()) {
    if (row.samples.empty()) continue;
    const Cell& cell = row.cell;
    absl::StrAppend(&text, cell.table, ",", cell.peer, ",", cell.workload, ",");
    absl::StrAppend(&text, cell.variant, ",", cell.callers, ",", cell.connections, ",", cell.steps);
    absl::StrAppend(&text, ",", cell.rate);
    for (const Metric metric :
         {&Sample::per_second, &Sample::p50, &Sample::p90, &Sample::p99, &Sample::p999,
          &Sample::server_cpu, &Sample::load_cpu, &Sample::memory, &Sample::instructions}) {
      absl::StrAppend(&text, ",", *MedianOf(&row, metric));
    }
    text += "\n";
  }
  return text;
}

absl::StatusOr<std::string> Splice(const std::string& document, const std::string& part) {
  const std::size_t begin = document.find(kPartBegin);
  const std::size_t end = document.find(kPartEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return absl::NotFoundError(
        absl::StrCat("the document has no lines ", kPartBegin, " and ", kPartEnd));
  }
  return absl::StrCat(document.substr(0, begin), kPartBegin, "\n\n", part, document.substr(end));
}

}  // namespace onced::bench
