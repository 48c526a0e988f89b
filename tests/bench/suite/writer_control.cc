#include <thread>

#include "tests/bench/report/tables.h"
#include "tests/bench/suite/controls.h"

namespace onced::bench {
namespace {

constexpr char kOnced[] = "onced-unary";
constexpr int kWriterCallers = 32;

// Writes at a steady rate for some time, on a thread of its own.
class Writer {
 public:
  // `peer` outlives it.
  Writer(Peer& peer, double rate, Clock::duration duration, std::uint64_t seed) {
    thread_ = std::thread([=, this, &peer] { result_ = Write(peer, rate, duration, seed); });
  }
  // Waits for it, and says whether all its answers were right.
  absl::Status Finish() {
    thread_.join();
    return result_;
  }

 private:
  static absl::Status Write(Peer& peer, double rate, Clock::duration duration, std::uint64_t seed) {
    auto workload = MakeWorkload("fresh", {.callers = kWriterCallers, .seed = seed});
    if (!workload.ok()) return workload.status();
    auto driver = peer.MakeDriver({.callers = kWriterCallers, .connections = 1});
    if (!driver.ok()) return driver.status();
    return RunLoad(**driver, *workload->measured,
                   {.callers = kWriterCallers,
                    .warm_up = Clock::duration::zero(),
                    .duration = duration,
                    .messages_per_second = rate})
        .status();
  }

  absl::Status result_;  // The thread's, until it is joined.
  std::thread thread_;
};

// `written`: null for no writer.
absl::Status MeasureVariant(Lab& lab, Peer& asked, Peer* written, const char* variant) {
  const Settings& settings = lab.settings();
  const Cell cell{.table = kWriterTable, .peer = kOnced, .workload = "replays", .variant = variant};
  const Target target{lab.Kind(kOnced), &asked};
  if (written == nullptr) return lab.MeasureInto(target, cell, settings.control_duration);
  // From before the load to about its end; filling it with records takes a moment.
  const auto duration = 2 * settings.control_duration;
  Writer writer(*written, settings.writer_rate, duration, lab.NextSeed());
  const absl::Status measured = lab.MeasureInto(target, cell, settings.control_duration);
  const absl::Status wrote = writer.Finish();
  return measured.ok() ? wrote : measured;
}

}  // namespace

absl::Status MeasureBesideWriter(Lab& lab) {
  auto asked = lab.Start(kOnced);
  if (!asked.ok()) return asked.status();
  auto other = lab.Start(kOnced);
  if (!other.ok()) return other.status();
  for (int round = 0; round < lab.settings().control_rounds; ++round) {
    absl::Status status = MeasureVariant(lab, **asked, nullptr, kNoWriter);
    if (status.ok()) status = MeasureVariant(lab, **asked, asked->get(), kOwnWriter);
    if (status.ok()) status = MeasureVariant(lab, **asked, other->get(), kOtherWriter);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace onced::bench
