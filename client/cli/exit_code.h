// The exit codes of oncectl. Scripts depend on them: never renumber.
#pragma once

#include "absl/status/status.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced::cli {

enum ExitCode : int {
  kExitOk = 0,          // Fresh; and the success of every command but reserve.
  kExitError = 1,       // Transport, server, output.
  kExitUsage = 2,       // A bad command line or input, found here or by the server.
  kExitReplayed = 3,    // Reserve: here is the stored result.
  kExitConflict = 4,    // Reserve: somebody is on it; or an outcome not known here.
  kExitMismatch = 5,    // Reserve: the key was used with another fingerprint.
  kExitUnresolved = 6,  // Reserve: the effect may have happened.
  kExitRefused = 7,     // A rule of the service: ABORTED, FAILED_PRECONDITION, NOT_FOUND.
};

ExitCode ExitCodeOf(absl::StatusCode error);
// An outcome from a newer server counts as a conflict: the work isn't done.
ExitCode ExitCodeOf(idempotency::v1::Outcome outcome);

}  // namespace onced::cli
