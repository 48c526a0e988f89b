// Names for executions.
#pragma once

#include <string>

namespace onced::client {

// A new ReserveRequest.request_id: 128 bits from the kernel, in 32 hexadecimal
// digits. Draw one for each execution and keep it for that execution's retries.
std::string NewRequestId();

}  // namespace onced::client
