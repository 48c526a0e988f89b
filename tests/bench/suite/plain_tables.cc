#include "tests/bench/suite/plain_tables.h"

#include <algorithm>
#include <cmath>

#include "tests/bench/report/tables.h"

namespace onced::bench {
namespace {

constexpr char kPostgres[] = "postgres";
constexpr const char* kUnary[] = {"echo", "onced-unary", "redis-aof-always", "redis-no-persistence",
                                  kPostgres};

}  // namespace

std::vector<Cell> FreshCells(const Settings& settings) {
  std::vector<Cell> cells = {
      {.table = kFreshTable, .peer = kDiskPeer, .callers = 1, .connections = 0}};
  for (const int callers : settings.callers) {
    for (const int connections : {1, 2}) {
      if (connections > callers) continue;
      for (const std::string peer : kUnary) {
        // It gets as many connections as it can use.
        if (peer == kPostgres && connections != std::min(callers, 2)) continue;
        cells.push_back(
            {.table = kFreshTable, .peer = peer, .callers = callers, .connections = connections});
      }
    }
  }
  return cells;
}

std::vector<Cell> BatchCells() {
  std::vector<Cell> cells;
  for (const char* peer : {"echo-batch", "onced-batch", "echo-session", "onced-session",
                           "redis-aof-always", "redis-no-persistence", kPostgres, kRocksPeer}) {
    cells.push_back({.table = kBatchTable, .peer = peer, .callers = 16, .steps = 64});
  }
  return cells;
}

std::vector<Cell> WorkloadCells() {
  std::vector<Cell> cells;
  for (const char* workload : {"pairs", "replays", "replays90", "hot", "zipf"}) {
    for (const char* peer : kUnary) {
      cells.push_back({.table = kWorkloadTable, .peer = peer, .workload = workload});
    }
  }
  for (const char* peer : kUnary) {
    cells.push_back({.table = kWorkloadTable,
                     .peer = peer,
                     .workload = "replays",
                     .callers = 1,
                     .connections = 1});
  }
  return cells;
}

std::vector<Cell> OpenCells(const Results& results) {
  const Series* closed = results.Find([](const Cell& cell) {
    return cell.table == kFreshTable && cell.peer == "onced-unary" && cell.callers == 64 &&
           cell.connections == 2;
  });
  // In whole hundreds, so that a report can name it.
  const double half = MedianOf(closed, &Sample::per_second).value_or(2'000) / 2;
  const double rate = std::max(100.0, std::floor(half / 100) * 100);
  std::vector<Cell> cells;
  for (const char* peer : kUnary) {
    cells.push_back({.table = kOpenTable, .peer = peer, .callers = 256, .rate = rate});
  }
  return cells;
}

}  // namespace onced::bench
