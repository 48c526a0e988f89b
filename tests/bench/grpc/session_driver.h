// A driver that sends messages over streams.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tests/bench/driver.h"

namespace onced::bench {

// Session: a stream a connection, which its callers share.
absl::StatusOr<std::unique_ptr<Driver>> MakeSessionDriver(const DriverOptions& options);

}  // namespace onced::bench
