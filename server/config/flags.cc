#include "server/config/flags.h"

#include "absl/strings/match.h"

namespace onced {

std::string FlagNameIn(absl::string_view arg) { return std::string(arg.substr(0, arg.find('='))); }

std::optional<std::string> TakeFlagValue(absl::Span<const std::string> args, std::size_t& i) {
  const std::size_t equals = args[i].find('=');
  if (equals != std::string::npos) return args[i].substr(equals + 1);
  if (i + 1 == args.size() || absl::StartsWith(args[i + 1], "--")) return std::nullopt;
  return args[++i];
}

}  // namespace onced
