// The benchmark:
//
//   onced_bench run [FLAG...]     one load at one server: throughput and latencies
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/cli/run_command.h"

namespace onced::bench {
namespace {

constexpr char kUsage[] =
    "onced_bench run    one load at one server\n"
    "  --peer echo|echo-batch|onced-unary|onced-batch\n"
    "  --workload fresh|pairs|replays|replays90|hot|zipf   --records N (replays, zipf)\n"
    "  --callers N  --connections N  --batch N  --seconds S  --warm-up S\n"
    "  --rate R             messages a second, whether or not earlier ones are answered\n"
    "  --server-address A   one that runs already; else one is started\n"
    "  --onced-flag=--x=y   for the one that is started\n"
    "  --server-core N  --load-core N  --work FOLDER  --seed N\n";

int Main(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "run") {
    std::fputs(kUsage, stderr);
    return 2;
  }
  auto parsed = Arguments::Parse({arguments.begin() + 1, arguments.end()});
  const absl::Status status = parsed.ok() ? RunCommand(*std::move(parsed)) : parsed.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "onced_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace onced::bench

int main(int argc, char** argv) { return onced::bench::Main({argv + 1, argv + argc}); }
