// From what the shards answer to what the checker reads.
#pragma once

#include <string>

#include "server/shard/request.h"
#include "tests/sim/checker.h"

namespace onced::sim {

// All of it, as bytes.
std::string BytesOf(const Result& result);

// What the operation asks, into a call that was not sent yet.
void FillAsked(const Operation& operation, Call& call);
// What the answer says, into the call that it answers.
void FillAnswer(const Answer& answer, Call& call);

}  // namespace onced::sim
