// What the parts of a client share: the connection, the time, and how calls are repeated.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "client/cpp/call.h"
#include "client/cpp/client.h"
#include "client/cpp/clock.h"
#include "client/cpp/error.h"
#include "client/cpp/raw_client.h"
#include "client/cpp/retry.h"

namespace onced::client {

// A thread that runs `body`. Throws std::system_error if none can be made.
using StartThread = std::function<std::jthread(std::function<void(const std::stop_token&)> body)>;
inline std::jthread StartJthread(std::function<void(const std::stop_token&)> body) {
  return std::jthread(std::move(body));
}

// When a call was sent, and how often.
struct Sent {
  absl::Time last;
  int attempts = 0;
};

// Threads: any; constant but for the counters.
struct ClientCore {
  // `time` outlives it.
  ClientCore(std::unique_ptr<Stub> called, ClientOptions given, Clock& time = Clock::System(),
             Uniform random = RandomFraction, StartThread thread = StartJthread)
      : options(std::move(given)),
        stub(std::move(called)),
        clock(time),
        uniform(std::move(random)),
        start_thread(std::move(thread)) {}

  const ClientOptions options;
  const std::unique_ptr<Stub> stub;
  Clock& clock;
  const Uniform uniform;
  const StartThread start_thread;

  std::atomic<std::int64_t> attempts = 0;
  std::atomic<std::int64_t> retries = 0;
  std::atomic<std::int64_t> unprotected_runs = 0;

  // Whether the caller doesn't want it any more, and why.
  absl::Status CallersEnd(const CallOptions& call) const {
    if (call.stop.stop_requested()) return absl::CancelledError("the caller has cancelled");
    if (call.deadline <= clock.WallNow()) {
      return absl::DeadlineExceededError("the caller's deadline has passed");
    }
    return absl::OkStatus();
  }

  // By `clock`, whatever the wall clock does meanwhile.
  absl::Time DeadlineOf(const CallOptions& call, absl::Duration timeout) const {
    if (call.deadline == absl::InfiniteFuture()) return clock.Now() + timeout;
    return clock.Now() + (call.deadline - clock.WallNow());
  }

  // A server that ends may cancel what is in flight, and so may a proxy: neither the caller nor
  // the service has said CANCELLED.
  static bool CutOff(const absl::Status& status, const CallOptions& call) {
    return absl::IsCancelled(status) && !call.stop.stop_requested() &&
           DetailsOf(status).domain != kDomain;
  }

  // One attempt. `deadline` is by `clock`.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Once(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request, CallOptions call, absl::Time deadline) {
    call.deadline = clock.WallNow() + (deadline - clock.Now());
    attempts.fetch_add(1, std::memory_order_relaxed);
    absl::StatusOr<Response> response = Call(*stub, method, request, call);
    if (!CutOff(response.status(), call)) return response;
    return absl::UnavailableError("the call was cut off, as by a server that stops");
  }

  // As often as the policy says.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Retrying(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, Response*),
                                    const Request& request, const CallOptions& call,
                                    absl::Duration timeout, Sent* sent = nullptr) {
    if (options.timeout <= absl::ZeroDuration()) {
      return absl::InvalidArgumentError("the client's timeout is not positive");
    }
    const absl::Time deadline = DeadlineOf(call, timeout);
    for (int attempt = 1;; ++attempt) {
      if (call.stop.stop_requested()) return absl::CancelledError("the caller has cancelled");
      if (attempt > 1) retries.fetch_add(1, std::memory_order_relaxed);
      if (sent != nullptr) *sent = {.last = clock.Now(), .attempts = attempt};
      absl::StatusOr<Response> response = Once(method, request, call, deadline);
      if (!absl::IsUnavailable(response.status()) || attempt >= options.retry.attempts_max) {
        return response;
      }
      const absl::Time again =
          clock.Now() + PauseAfter(options.retry, attempt, response.status(), uniform);
      if (again >= deadline) return response;  // Which says more than the deadline would.
      // Ignored: whether it was told to stop is looked at above.
      (void)clock.SleepUntil(again, call.stop);
    }
  }
};

}  // namespace onced::client
