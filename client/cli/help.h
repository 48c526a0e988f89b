// What oncectl says about itself.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/command.h"

namespace onced::cli {

// Of oncectl as a whole if `topic` is empty, else of the command of that name.
absl::StatusOr<std::string> HelpText(const std::string& topic);
std::string VersionText();

// Null if there is none.
const Command* FindCommand(const std::string& name);

}  // namespace onced::cli
