#include "tests/bench/grpc/channels.h"

#include <grpc/support/time.h>
#include <sys/prctl.h>

#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onced::bench {
namespace {

constexpr std::chrono::seconds kConnectPatience{10};

gpr_timespec Past() { return gpr_inf_past(GPR_CLOCK_MONOTONIC); }

// Both are CLOCK_MONOTONIC.
gpr_timespec ToTimespec(Clock::time_point time) {
  return gpr_time_from_nanos(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count(),
      GPR_TIMESPAN);
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<grpc::Channel>>> Connect(const std::string& address,
                                                                    int count) {
  grpc::ChannelArguments arguments;
  // Else channels to one address share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A proxy for the web that the environment names is not meant for this.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < count; ++i) {
    channels.push_back(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    const auto deadline = std::chrono::system_clock::now() + kConnectPatience;
    if (!channels.back()->WaitForConnected(deadline)) {
      return absl::UnavailableError(absl::StrCat("nobody answers at ", address));
    }
  }
  return channels;
}

CompletionWaiter::CompletionWaiter() {
  // Of sleeping for less than the usual 50 us.
  prctl(PR_SET_TIMERSLACK, 1);
}

CompletionWaiter::~CompletionWaiter() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

std::optional<CompletionWaiter::Event> CompletionWaiter::Next(Clock::time_point until) {
  gpr_timespec deadline = Past();
  if (until - Clock::now() > std::chrono::milliseconds(2)) {
    deadline = ToTimespec(until - std::chrono::milliseconds(1));
    deadline.clock_type = GPR_CLOCK_MONOTONIC;
  } else if (auto event = TryNext(); event.has_value()) {
    return event;
  } else {
    // Looking without a pause would take a core, which the server may be in need of.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  Event event{};
  if (queue_.AsyncNext(&event.tag, &event.ok, deadline) != grpc::CompletionQueue::GOT_EVENT) {
    return std::nullopt;
  }
  return event;
}

std::optional<CompletionWaiter::Event> CompletionWaiter::TryNext() {
  Event event{};
  if (queue_.AsyncNext(&event.tag, &event.ok, Past()) != grpc::CompletionQueue::GOT_EVENT) {
    return std::nullopt;
  }
  return event;
}

}  // namespace onced::bench
