// What holds for every configuration that is accepted: docs/configuration.md.
#pragma once

#include "absl/status/statusor.h"
#include "server/config/config.h"

namespace onced::fuzz {

void CheckBounds(const Config& config);
// Either in bounds, or refused with lines that an operator can read.
void CheckInvocation(const absl::StatusOr<Invocation>& invocation);

}  // namespace onced::fuzz
