#include "client/cli/exit_code.h"

namespace onced::cli {

ExitCode ExitCodeOf(absl::StatusCode error) {
  switch (error) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
      return kExitRefused;
    default:
      return kExitError;
  }
}

ExitCode ExitCodeOf(idempotency::v1::Outcome outcome) {
  switch (outcome) {
    case idempotency::v1::OUTCOME_FRESH:
      return kExitOk;
    case idempotency::v1::OUTCOME_REPLAYED:
      return kExitReplayed;
    case idempotency::v1::OUTCOME_MISMATCH:
      return kExitMismatch;
    case idempotency::v1::OUTCOME_UNRESOLVED:
      return kExitUnresolved;
    default:
      return kExitConflict;
  }
}

}  // namespace onced::cli
