#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/config/config.h"
#include "server/config/cores.h"
#include "server/config/restore_command.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/config_bounds.h"

namespace onced::fuzz {
namespace {

void ReadRestore(const std::vector<std::string>& args) {
  const auto parsed = ParseRestore(args);
  if (!parsed.ok()) return Demand(!parsed.status().message().empty(), "refused without a word");
  const auto* command = std::get_if<RestoreCommand>(&*parsed);
  if (command == nullptr) return;
  Demand(!command->from.empty() && !command->data_dir.empty(), "from nowhere, or to nowhere");
  Demand(command->fence_floor >= 0 && command->fence_floor <= limits::kFenceFloorMax, "the floor");
}

}  // namespace

// Lines: NAME=VALUE are variables, all others arguments.
void CommandLine(absl::string_view bytes) {
  std::vector<std::string> args;
  std::map<std::string, std::string> variables;
  for (const absl::string_view line : absl::StrSplit(bytes, '\n')) {
    const std::size_t equals = line.find('=');
    if (line.substr(0, 6) == "ONCED_" && equals != absl::string_view::npos) {
      variables[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
    } else {
      args.emplace_back(line);
    }
  }
  CheckInvocation(LoadConfig(
      args,
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
      },
      [](const std::string&) -> absl::StatusOr<std::string> {
        return absl::NotFoundError("there is no file");
      }));
  ReadRestore(args);
  (void)CoresOfCpuMax(bytes);  // Ignored: any number may stand there, and the least counts.
}

}  // namespace onced::fuzz
