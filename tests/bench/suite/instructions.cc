#include "tests/bench/suite/instructions.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/bench/report/tables.h"

namespace onced::bench {
namespace {

constexpr char kValgrind[] = "/usr/bin/valgrind";
constexpr int kCallers = 16;
constexpr std::int64_t kFewCalls = 500;

// The line "totals: N" of callgrind's output, or its older name.
absl::StatusOr<double> TotalIn(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    for (const std::string name : {"totals: ", "summary: "}) {
      if (line.rfind(name, 0) == 0) return std::strtod(line.c_str() + name.size(), nullptr);
    }
  }
  return absl::InternalError(absl::StrCat("callgrind wrote no total into ", path));
}

// Of a server from its start to its end, with so many calls between.
absl::StatusOr<double> Count(Lab& lab, const std::string& name, std::int64_t calls) {
  const std::string folder = lab.work().MakeFolder();
  const std::string counts = folder + "/callgrind.out";
  auto peer = lab.Start(
      name, {.folder = folder,
             .runner = {kValgrind, "--tool=callgrind", "--callgrind-out-file=" + counts}});
  if (!peer.ok()) return peer.status();
  const auto calls_made = MakeFill(lab.NextSeed(), calls);
  const Target target{lab.Kind(name), peer->get()};
  if (absl::Status status = lab.Prepare(target, *calls_made, kCallers); !status.ok()) return status;
  peer->reset();  // Only at its end it writes.
  return TotalIn(counts);
}

}  // namespace

absl::Status MeasureInstructions(Lab& lab) {
  for (const char* name : {"echo", "onced-unary"}) {
    const Cell cell{
        .table = kInstructionsTable, .peer = name, .callers = kCallers, .connections = 2};
    if (access(kValgrind, X_OK) != 0) {
      lab.results().Skip(cell, absl::StrCat("there is no ", kValgrind));
      continue;
    }
    Tell(absl::StrCat("instructions: ", name));
    const auto calls = kFewCalls + lab.settings().instruction_calls;
    const auto few = Count(lab, name, kFewCalls);
    if (!few.ok()) return few.status();
    const auto many = Count(lab, name, calls);
    if (!many.ok()) return many.status();
    const double steps = static_cast<double>(calls - kFewCalls);
    lab.results().Add(cell, {.instructions = (*many - *few) / steps});
  }
  return absl::OkStatus();
}

}  // namespace onced::bench
