#include "tests/examples/queue/redis_server.h"

#include <filesystem>
#include <stdexcept>

namespace onced::examples {
namespace {

constexpr char kProgram[] = "/usr/bin/redis-server";

}  // namespace

bool RedisServer::IsInstalled() { return std::filesystem::exists(kProgram); }

RedisServer::RedisServer()
    : address_(dir_.Path("redis.sock")),
      process_(std::make_unique<integration::Process>(integration::Process::Command{
          .argv = {kProgram, "--port", "0", "--unixsocket", address_, "--dir", dir_.path(),
                   "--save", "", "--appendonly", "no"}})) {
  if (!process_->out().AwaitLine("eady to accept").has_value()) {
    throw std::runtime_error("Redis doesn't start: " + process_->out().AllText());
  }
}

}  // namespace onced::examples
