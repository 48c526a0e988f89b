#include "tests/bench/cli/suite_command.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/bench/cli/baselines.h"
#include "tests/bench/cli/peers.h"
#include "tests/bench/load/cpu.h"
#include "tests/bench/report/markdown.h"
#include "tests/bench/suite/suite.h"

namespace onced::bench {
namespace {

struct Output {
  std::string document;  // In which the report's part is replaced. Empty: none.
  std::string csv;       // Empty: none.
};

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

Settings SettingsOf(Arguments& arguments) {
  Settings settings = arguments.Flag("quick") ? QuickSettings() : Settings();
  settings.tables = arguments.All("table");
  settings.work = arguments.Text("work", settings.work);
  settings.server_core = arguments.Core("server-core");
  settings.load_core = arguments.Core("load-core");
  settings.rounds = static_cast<int>(arguments.Number("rounds", settings.rounds));
  settings.many_records = static_cast<std::int64_t>(
      arguments.Number("many-records", static_cast<double>(settings.many_records)));
  return settings;
}

std::string How(const Settings& settings, Clock::duration took) {
  return absl::StrFormat(
      "%d rounds of %.2f s a row, or %d of %.1f s where something goes on beside it, after a "
      "warm-up of %.2f s each; %.0f min in all. Figures are medians of rounds, ratios medians of "
      "the rounds' ratios. %d live records are few, %d many.",
      settings.rounds, Seconds(settings.duration), settings.control_rounds,
      Seconds(settings.control_duration), Seconds(settings.warm_up), Seconds(took) / 60,
      settings.few_records, settings.many_records);
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) return absl::UnavailableError(absl::StrCat("can't write ", path));
  return absl::OkStatus();
}

absl::Status UpdateDocument(const std::string& path, const std::string& part) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat("can't read ", path));
  const auto spliced = Splice(text.str(), part);
  if (!spliced.ok()) return spliced.status();
  return WriteFile(path, *spliced);
}

absl::Status Write(const Lab& lab, const Output& output, const std::string& markdown) {
  std::fputs(markdown.c_str(), stdout);
  absl::Status status;
  if (!output.csv.empty()) status.Update(WriteFile(output.csv, ToCsv(lab.results())));
  if (!output.document.empty()) status.Update(UpdateDocument(output.document, markdown));
  return status;
}

}  // namespace

absl::Status SuiteCommand(Arguments arguments) {
  const Settings settings = SettingsOf(arguments);
  const Output output{.document = arguments.Text("document", ""), .csv = arguments.Text("csv", "")};
  const std::string command = arguments.Text("command", "onced_bench suite");
  if (absl::Status status = arguments.Check(); !status.ok()) return status;
  RunOn(settings.load_core);
  const std::vector<PeerKind> kinds = AllPeers();
  const std::vector<Baseline> baselines = AllBaselines();
  Lab lab(kinds, baselines, settings);
  const Clock::time_point start = Clock::now();
  if (absl::Status status = RunSuite(lab); !status.ok()) return status;
  const Report report{.results = lab.results(),
                      .machine = LookAtMachine(settings.work),
                      .command = command,
                      .how = How(settings, Clock::now() - start),
                      .versions = lab.versions()};
  return Write(lab, output, ToMarkdown(report));
}

}  // namespace onced::bench
