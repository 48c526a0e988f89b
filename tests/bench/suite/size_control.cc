#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/bench/load/cpu.h"
#include "tests/bench/report/tables.h"
#include "tests/bench/suite/controls.h"

namespace onced::bench {
namespace {

constexpr char kOnced[] = "onced-unary";
constexpr char kFiller[] = "onced-batch";  // The same server.
constexpr std::chrono::minutes kCalmPatience{2};

absl::StatusOr<std::unique_ptr<Peer>> StartWith(Lab& lab, std::int64_t records) {
  auto peer = lab.Start(kFiller);
  if (!peer.ok()) return peer;
  Tell(absl::StrCat("size: filling with ", records, " records"));
  const auto fill = MakeFill(lab.NextSeed(), records);
  const absl::Status filled = lab.Prepare({lab.Kind(kFiller), peer->get()}, *fill);
  if (!filled.ok()) return filled;
  return peer;
}

// Until it has put away what it was filled with: less than a tenth of a core.
void AwaitCalm(const Peer& peer) {
  const auto give_up = Clock::now() + kCalmPatience;
  double before = -1;
  for (double now = 0; now - before > 0.1 && Clock::now() < give_up;) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    before = now;
    now = ProcessCpuSeconds(peer.pid());
  }
}

absl::Status MeasureAt(Lab& lab, Peer& peer, const char* variant) {
  const Cell cell{.table = kSizeTable, .peer = kOnced, .variant = variant};
  auto sample = lab.Measure({lab.Kind(kOnced), &peer}, cell, lab.settings().control_duration);
  if (!sample.ok()) return sample.status();
  sample->memory = ProcessPeakMemory(peer.pid());
  lab.results().Add(cell, *sample);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureSizes(Lab& lab) {
  auto few = StartWith(lab, lab.settings().few_records);
  if (!few.ok()) return few.status();
  auto many = StartWith(lab, lab.settings().many_records);
  if (!many.ok()) return many.status();
  AwaitCalm(**many);
  for (int round = 0; round < lab.settings().control_rounds; ++round) {
    absl::Status status = MeasureAt(lab, **few, kFewRecords);
    if (status.ok()) status = MeasureAt(lab, **many, kManyRecords);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace onced::bench
