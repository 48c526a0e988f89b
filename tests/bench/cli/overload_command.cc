#include "tests/bench/cli/overload_command.h"

#include <chrono>

#include "tests/bench/overload/overload.h"

namespace onced::bench {

absl::Status OverloadCommand(Arguments arguments) {
  const auto seconds = [&](const char* name, double otherwise) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(arguments.Number(name, otherwise)));
  };
  OverloadOptions options;
  options.work = arguments.Text("work", options.work);
  if (const auto core = arguments.Core("server-core")) options.server_core = core;
  if (const auto core = arguments.Core("load-core")) options.load_core = core;
  options.warm_up = seconds("warm-up", 1);
  options.duration = seconds("seconds", 4);
  options.rounds = static_cast<int>(arguments.Number("rounds", options.rounds));
  options.times = arguments.Number("times", options.times);
  options.only = arguments.Text("only", options.only);
  if (absl::Status status = arguments.Check(); !status.ok()) return status;
  return MeasureOverload(options);
}

}  // namespace onced::bench
