#include "client/cpp/retry.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "client/cpp/error.h"

namespace onced::client {

namespace {

// No secret: it spreads calls, and goes on without the machine's own random bits.
std::uint64_t Seed() noexcept {
  try {
    return std::random_device{}();
  } catch (...) {
    thread_local const char here = 0;
    return std::chrono::steady_clock::now().time_since_epoch().count() ^
           reinterpret_cast<std::uintptr_t>(&here);
  }
}

}  // namespace

double RandomFraction() noexcept {
  thread_local std::mt19937_64 generator{Seed()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

absl::Duration PauseAfter(const RetryPolicy& policy, int attempt, const absl::Status& error,
                          const Uniform& uniform) {
  constexpr int kDoublingsMax = 30;  // 2^30 backoffs are longer than any bound.
  const int doublings = std::min(attempt - 1, kDoublingsMax);
  const absl::Duration backoff =
      std::min(policy.backoff_max, policy.backoff_first * (std::int64_t{1} << doublings));
  const ErrorDetails details = DetailsOf(error);
  absl::Duration asked;
  if (details.domain == kDomain) asked = details.retry_delay.value_or(absl::ZeroDuration());
  return std::max(asked, absl::ZeroDuration()) + backoff * uniform();
}

}  // namespace onced::client
