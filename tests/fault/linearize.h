// Puts the calls on one key into an order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fault/checker.h"
#include "tests/fault/evidence.h"

namespace onced::fault {

enum class Order : std::uint8_t { kFound, kNone, kTooHard };

struct Linearization {
  Order order = Order::kFound;
  std::uint64_t steps = 0;
  // If there is none: how far the search came.
  std::string explanation;
};

// Whether there is an order of the calls in which each stands between its sending
// and its end, and a server that executes one after the other could have answered
// so. `events` are those of one key, by sending. At most `max_steps` calls are tried.
Linearization Linearize(const std::vector<Event>& events, const std::vector<Life>& lives,
                        const Rule& rule, std::uint64_t max_steps);

}  // namespace onced::fault
