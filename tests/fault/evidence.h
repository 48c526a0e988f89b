// What is known of when each call of a run was executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fault/history.h"

namespace onced::fault {

// The server's time at which a call was executed lies in this interval, ends
// included, if it was executed at all. In microseconds.
struct When {
  std::int64_t lo = 0;
  std::int64_t hi = INT64_MAX;
  bool exact() const { return lo == hi; }
};

// One call of one key, with all that the rest of the run says of it.
struct Event {
  const Call* call = nullptr;
  // Executed before that, or never: its answer, or for one without, the death of
  // the server that it was sent to.
  Position end = kNever;
  When when;
};

inline bool Judged(const Call& call) { return call.answer.status == Status::kOk; }
// Known to be refused: as if it had never been sent.
inline bool Refused(const Call& call) { return call.answer.status == Status::kFail; }
inline bool MayBeDone(const Call& call) { return !Judged(call) && !Refused(call); }

// The time by which it was judged, where its answer tells that; else 0.
std::int64_t TimeOf(const Call& call);

// `a` was executed before `b`, whatever happened in between.
bool Before(const Call& a, const Call& b);

// Of all calls that may have been executed, in the order of sending.
std::vector<Event> EventsOf(const Recording& run);

// One text for each pair of answers between which the server's time went back.
std::vector<std::string> CheckTime(const Recording& run);

}  // namespace onced::fault
