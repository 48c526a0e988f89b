#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/bench/report/tables.h"
#include "tests/bench/suite/controls.h"
#include "tests/integration/http.h"

namespace onced::bench {
namespace {

constexpr char kOnced[] = "onced-unary";
constexpr char kFiller[] = "onced-batch";  // The same server.
constexpr int kCallers = 16;
// Results are replayed for 1 s, and may be swept 2 s later.
constexpr char kPolicy[] = "default_policy: {retention: {min: 1s, default: 1s}}\n";
constexpr char kGrace[] = "2s";
constexpr std::chrono::seconds kUntilSwept{4};
constexpr std::chrono::seconds kSweepPatience{30};

absl::StatusOr<std::unique_ptr<Peer>> StartOn(Lab& lab, const std::string& folder,
                                              const char* sweep_interval) {
  const std::string config = folder + "/onced.yaml";
  std::ofstream(config) << kPolicy;
  return lab.Start(kOnced, {.folder = folder,
                            .onced_flags = {"--config", config, "--reclaim-grace", kGrace,
                                            "--sweep-interval", sweep_interval}});
}

double RewrittenBytes(const Peer& peer) {
  auto metrics =
      integration::ParseMetrics(integration::HttpGet(peer.http_address(), "/metrics").body);
  return metrics["idempotency_sweep_rewritten_bytes_total"];
}

// Returns when a sweep is at work.
absl::Status AwaitSweep(const Peer& peer) {
  const auto give_up = Clock::now() + kSweepPatience;
  while (RewrittenBytes(peer) == 0) {
    if (Clock::now() > give_up) return absl::InternalError("the sweeper rewrote nothing");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return absl::OkStatus();
}

absl::Status MeasureVariant(Lab& lab, Peer& peer, const char* variant) {
  const Settings& settings = lab.settings();
  return lab.MeasureInto({lab.Kind(kOnced), &peer},
                         {.table = kSweepTable,
                          .peer = kOnced,
                          .workload = "pairs",
                          .callers = kCallers,
                          .rate = settings.sweep_rate,
                          .variant = variant},
                         settings.control_duration);
}

// Fills it with what has expired when it returns.
absl::Status Fill(Lab& lab, const std::string& folder) {
  auto peer = StartOn(lab, folder, "24h");
  if (!peer.ok()) return peer.status();
  const auto pairs = MakeWorkload(
      "replays", {.callers = 64, .seed = lab.NextSeed(), .records = lab.settings().swept_records});
  if (!pairs.ok()) return pairs.status();
  return lab.Prepare({lab.Kind(kFiller), peer->get()}, *pairs->before);
}

absl::Status MeasureRound(Lab& lab, const std::string& folder) {
  if (absl::Status status = Fill(lab, folder); !status.ok()) return status;
  std::this_thread::sleep_for(kUntilSwept);
  {
    auto quiet = StartOn(lab, folder, "24h");
    if (!quiet.ok()) return quiet.status();
    if (absl::Status status = MeasureVariant(lab, **quiet, kQuiet); !status.ok()) return status;
  }
  auto sweeping = StartOn(lab, folder, "1s");
  if (!sweeping.ok()) return sweeping.status();
  if (absl::Status status = AwaitSweep(**sweeping); !status.ok()) return status;
  const double before = RewrittenBytes(**sweeping);
  if (absl::Status status = MeasureVariant(lab, **sweeping, kSweeping); !status.ok()) return status;
  if (!lab.settings().long_sweep || RewrittenBytes(**sweeping) > before) return absl::OkStatus();
  return absl::InternalError("the sweep was over too soon");
}

}  // namespace

absl::Status MeasureSweep(Lab& lab) {
  const std::string folder = lab.work().MakeFolder();
  for (int round = 0; round < lab.settings().control_rounds; ++round) {
    Tell(absl::StrCat("sweep: round ", round + 1, " of ", lab.settings().control_rounds));
    if (absl::Status status = MeasureRound(lab, folder); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace onced::bench
