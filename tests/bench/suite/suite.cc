#include "tests/bench/suite/suite.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/bench/report/tables.h"
#include "tests/bench/suite/controls.h"
#include "tests/bench/suite/instructions.h"
#include "tests/bench/suite/plain_tables.h"

namespace onced::bench {
namespace {

struct Table {
  const char* name;
  absl::Status (*measure)(Lab& lab);
};

constexpr Table kTables[] = {
    {kFreshTable, [](Lab& lab) { return lab.MeasureTable(FreshCells(lab.settings())); }},
    {kBatchTable, [](Lab& lab) { return lab.MeasureTable(BatchCells()); }},
    {kWorkloadTable, [](Lab& lab) { return lab.MeasureTable(WorkloadCells()); }},
    {kOpenTable, [](Lab& lab) { return lab.MeasureTable(OpenCells(lab.results())); }},
    {kWriterTable, MeasureBesideWriter},
    {kSweepTable, MeasureSweep},
    {kSizeTable, MeasureSizes},
    {kInstructionsTable, MeasureInstructions},
};

bool Wanted(const Settings& settings, const std::string& table) {
  if (table == kInstructionsTable && settings.instruction_calls == 0) return false;
  return settings.tables.empty() ||
         std::find(settings.tables.begin(), settings.tables.end(), table) != settings.tables.end();
}

}  // namespace

absl::Status RunSuite(Lab& lab) {
  for (const Table& table : kTables) {
    if (!Wanted(lab.settings(), table.name)) continue;
    Tell(table.name);
    if (absl::Status status = table.measure(lab); !status.ok()) return status;
  }
  return CheckComplete(lab.results(), lab.settings());
}

absl::Status CheckComplete(const Results& results, const Settings& settings) {
  for (const Table& table : kTables) {
    if (Wanted(settings, table.name) && results.Table(table.name).empty()) {
      return absl::InternalError(absl::StrCat("nothing was measured of ", table.name));
    }
  }
  for (const Series& series : results.all()) {
    if (series.samples.empty() && series.skipped.empty()) {
      return absl::InternalError(absl::StrCat("nothing was measured of ", series.cell.table, ", ",
                                              series.cell.peer, ", ", series.cell.workload, ", ",
                                              series.cell.callers, " callers"));
    }
  }
  return absl::OkStatus();
}

}  // namespace onced::bench
