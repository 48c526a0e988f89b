#include "client/cpp/cancel_watch.h"

#include <system_error>

namespace onced::client {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(50);

}  // namespace

CancelWatch::CancelWatch(const grpc::ServerContextBase& context, ClientCore& core) {
  try {
    thread_ = core.start_thread([this, &context, &core](const std::stop_token& stop) {
      while (core.clock.SleepUntil(core.clock.Now() + kInterval, stop)) {
        if (!context.IsCancelled()) continue;
        cancelled_.request_stop();
        return;
      }
    });
  } catch (const std::system_error&) {
    // Then the deadline ends the wait.
  }
}

}  // namespace onced::client
