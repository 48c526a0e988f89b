#include <optional>
#include <string>
#include <vector>

#include "server/config/config.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/config_bounds.h"

namespace onced::fuzz {

void ConfigFile(absl::string_view bytes) {
  const std::vector<std::string> args = {"--config", "onced.yaml", "--data-dir", "data"};
  const auto load = [&] {
    return LoadConfig(
        args, [](const std::string&) -> std::optional<std::string> { return std::nullopt; },
        [&](const std::string&) -> absl::StatusOr<std::string> { return std::string(bytes); });
  };
  const auto invocation = load();
  CheckInvocation(invocation);
  const auto again = load();
  Demand(again.status() == invocation.status(), "another verdict on the same file");
  if (again.ok()) Demand(*again == *invocation, "another configuration from the same file");
}

}  // namespace onced::fuzz
