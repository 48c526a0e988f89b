#include "client/cpp/retry.h"

#include <algorithm>
#include <random>

#include "client/cpp/error.h"

namespace onced::client {

double RandomFraction() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

absl::Duration PauseAfter(const RetryPolicy& policy, int attempt, const absl::Status& error,
                          const Uniform& uniform) {
  constexpr int kDoublingsMax = 30;  // 2^30 backoffs are longer than any bound.
  const int doublings = std::min(attempt - 1, kDoublingsMax);
  const absl::Duration backoff =
      std::min(policy.backoff_max, policy.backoff_first * (std::int64_t{1} << doublings));
  const absl::Duration asked = DetailsOf(error).retry_delay.value_or(absl::ZeroDuration());
  return std::max(asked, absl::ZeroDuration()) + backoff * uniform();
}

}  // namespace onced::client
