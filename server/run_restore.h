// onced restore: makes a store from a backup, without a server.
#pragma once

#include <string>
#include <vector>

#include "server/serve.h"

namespace onced {

// `args` is what follows the word "restore". The exit code: 0 done, 1 failed,
// 2 a wrong command line, 3 refused, 4 the backup is damaged.
int RunRestore(const std::vector<std::string>& args, const Machine& machine);

}  // namespace onced
