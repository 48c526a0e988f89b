// Judges what clients heard by the protocol alone: sections 3 and 7 of
// docs/protocol.md. It shares nothing with the server: neither types nor decisions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/fault/history.h"

namespace onced::fault {

// What a namespace makes of a reservation whose lease ran out.
struct Rule {
  bool hold = false;
  std::int64_t lapsed_retention = 24LL * 3600 * 1'000'000;  // In microseconds.
};
using Rules = std::map<std::string, Rule>;  // By namespace.

struct Verdict {
  // One text for each rule that was broken, with the calls that broke it.
  std::vector<std::string> broken;
  std::uint64_t keys = 0;
  // Keys whose histories were too hard to place: nothing is known of their
  // linearizability. Their invariants were checked all the same.
  std::vector<std::string> too_hard;
  std::uint64_t longest = 0;  // Calls on one key.
  std::uint64_t hardest = 0;  // Steps that it took to order those of one key.
};

// Operation: first the invariants, one by one, from pairs of calls of which the order
//            is known; then, for every key that broke none, whether its calls can be
//            put into one order that a single-threaded server could have answered so
//            (linearizability, by Wing and Gong's search with Lowe's memory).
// Promise:   a history that a correct server could have given breaks nothing.
// Limits:    `max_steps` bounds the search for each key. Once enough is broken, no more
//            is looked for.
Verdict Check(const Recording& run, const Rules& rules, std::uint64_t max_steps = 300'000);

// All of it, for people; empty if nothing was broken.
std::string ToText(const Verdict& verdict);

}  // namespace onced::fault
