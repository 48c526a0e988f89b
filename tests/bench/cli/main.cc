// The benchmark:
//
//   onced_bench suite [FLAG...]   everything, and a report
//   onced_bench run [FLAG...]     one load at one server: throughput and latencies
//   onced_bench overload [FLAG...]   more than the server can carry
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/cli/overload_command.h"
#include "tests/bench/cli/run_command.h"
#include "tests/bench/cli/suite_command.h"

namespace onced::bench {
namespace {

constexpr char kUsage[] =
    "onced_bench suite   everything, and a report in Markdown\n"
    "  --quick              in two minutes; its figures mean nothing\n"
    "  --table NAME         of these only: fresh batch workloads open writer sweep size\n"
    "                       instructions\n"
    "  --document FILE      whose marked part becomes the report\n"
    "  --csv FILE           medians, a line a row\n"
    "  --rounds N  --many-records N  --server-core N  --load-core N  --work FOLDER\n"
    "  --command TEXT       that made it, for the report\n"
    "onced_bench run     one load at one server\n"
    "  --peer NAME          as in the report: echo, onced-unary, onced-batch ...\n"
    "  --workload fresh|pairs|replays|replays90|hot|zipf   --records N (replays, zipf)\n"
    "  --callers N  --connections N  --batch N  --seconds S  --warm-up S\n"
    "  --rate R             messages a second, whether or not earlier ones are answered\n"
    "  --server-address A   one that runs already; else one is started\n"
    "  --onced-flag=--x=y   for the one that is started\n"
    "  --server-core N  --load-core N  --work FOLDER  --seed N\n"
    "onced_bench overload   five times the load that onced can carry, and one namespace's flood\n"
    "  --seconds S  --warm-up S  --rounds N  --times N\n"
    "  --server-core N  --load-core N  --work FOLDER\n";

absl::Status Do(const std::string& command, const std::vector<std::string>& rest) {
  auto arguments = Arguments::Parse(rest);
  if (!arguments.ok()) return arguments.status();
  if (command == "overload") return OverloadCommand(*std::move(arguments));
  return command == "run" ? RunCommand(*std::move(arguments)) : SuiteCommand(*std::move(arguments));
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.empty() ||
      (arguments[0] != "run" && arguments[0] != "suite" && arguments[0] != "overload")) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const absl::Status status = Do(arguments[0], {arguments.begin() + 1, arguments.end()});
  if (status.ok()) return 0;
  std::fprintf(stderr, "onced_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace onced::bench

int main(int argc, char** argv) { return onced::bench::Main({argv + 1, argv + argc}); }
