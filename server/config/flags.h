// The command line, flag by flag: --name VALUE, or --name=VALUE.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onced {

// "--name" of either.
std::string FlagNameIn(absl::string_view arg);
// Of the flag `args[i]`; `i` moves to where it stands. nullopt: it has none. A flag
// is not another one's value; one that looks like it is given with "=".
std::optional<std::string> TakeFlagValue(absl::Span<const std::string> args, std::size_t& i);

}  // namespace onced
