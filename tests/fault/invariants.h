// The rules of section 7 of docs/protocol.md, one by one, from pairs of calls of which
// the order is known. What they miss, the search for an order finds; what they
// find, they name.
#pragma once

#include <string>
#include <vector>

#include "tests/fault/evidence.h"

namespace onced::fault {

// `events` are those of one key, by sending. One text for each rule that was broken.
std::vector<std::string> CheckInvariants(const std::vector<Event>& events);

}  // namespace onced::fault
