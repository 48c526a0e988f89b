// The server, from its command line to its exit code.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/base/believed_clock.h"
#include "server/storage/store.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace onced {

// What the server takes from the machine. Fault tests run the same server on a
// machine that fails; what is left empty is the real one.
//
// Lifetime: all that it points to outlives the server.
struct Machine {
  rocksdb::Env* env = nullptr;
  const TimeSource* time_source = nullptr;
  // Stands between the shards and the store on the disk, for as long as they live.
  std::function<std::unique_ptr<Store>(Store& disk)> wrap_store;
};

// `args` is the command line without the program's name. The exit code; blocks
// until the server has ended.
int Main(const std::vector<std::string>& args, const Machine& machine);

}  // namespace onced
