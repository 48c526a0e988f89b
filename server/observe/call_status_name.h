// How a call ended, in a word: as a metric's label and, in capitals, in a span.
#pragma once

#include "server/base/telemetry.h"

namespace onced {

inline const char* NameOf(CallStatus status) {
  switch (status) {
    case CallStatus::kFresh:
      return "fresh";
    case CallStatus::kReplayed:
      return "replayed";
    case CallStatus::kConflict:
      return "conflict";
    case CallStatus::kMismatch:
      return "mismatch";
    case CallStatus::kUnresolved:
      return "unresolved";
    case CallStatus::kOk:
      return "ok";
    case CallStatus::kError:
      return "error";
  }
  __builtin_unreachable();
}

}  // namespace onced
