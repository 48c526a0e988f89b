// Drivers that make a call for each message.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tests/bench/driver.h"

namespace onced::bench {

// Reserve and Commit, one step a message.
absl::StatusOr<std::unique_ptr<Driver>> MakeUnaryDriver(const DriverOptions& options);
// Batch.
absl::StatusOr<std::unique_ptr<Driver>> MakeBatchDriver(const DriverOptions& options);

}  // namespace onced::bench
