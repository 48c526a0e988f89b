// Waiting for sockets, to the nanosecond: a load's next message may be due at once.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include "tests/bench/driver.h"

namespace onced::bench {

// False if `until` has passed and there is nothing; looks once even then.
inline bool WaitUntil(Clock::time_point until, std::vector<pollfd>& fds) {
  using std::chrono::nanoseconds;
  const auto left = std::max<nanoseconds>(until - Clock::now(), nanoseconds(0));
  const timespec timeout{.tv_sec = static_cast<time_t>(left / std::chrono::seconds(1)),
                         .tv_nsec = static_cast<long>((left % std::chrono::seconds(1)).count())};
  return ppoll(fds.data(), fds.size(), &timeout, nullptr) > 0;
}

}  // namespace onced::bench
