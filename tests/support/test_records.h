// Records to test with.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "server/ledger/record.h"

namespace onced {

// A time that all tests may start from.
inline constexpr std::int64_t kTestStartSeconds = 1'700'000'000;
inline absl::Time TestStart() { return absl::FromUnixSeconds(kTestStartSeconds); }

// Golden bytes of the record codec are those of the four records below, so their
// values stay as they are.

// A reservation made at TestStart(), with nothing but what every one has.
Record MinimalPending(Fence fence = {7});
// One of which every field has a value of its own.
Record FullPending();
// A result made at TestStart(), with a body.
Record MinimalCommitted(std::string body, Fence fence = {7});
Record FullCommitted();

// Any record that may be stored. The same generator gives the same records.
Record AnyRecord(std::mt19937_64& random);

}  // namespace onced
