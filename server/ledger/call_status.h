// How the metrics count an answer.
#pragma once

#include "server/base/telemetry.h"
#include "server/ledger/operation.h"

namespace onced {

CallStatus CallStatusOf(const Reply& reply);

}  // namespace onced
