// The command line of `onced restore`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/config/config.h"

namespace onced {

struct RestoreCommand {
  std::string from;
  std::string data_dir;
  std::optional<std::uint32_t> backup_id;
  std::int64_t fence_floor = 0;
  bool operator==(const RestoreCommand&) const = default;
};

// `args` is what follows the word "restore". No environment, no file: a restore
// says all that it does. On failure the message has one line for each error.
absl::StatusOr<std::variant<RestoreCommand, ShowHelp>> ParseRestore(
    absl::Span<const std::string> args);

std::string RestoreHelpText();

}  // namespace onced
