// What comes before the work: a key is reserved, and waited for while another has it.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/client_core.h"
#include "client/cpp/run_once.h"

namespace onced::client {

// Operation: one Reserve after the other, all of one execution, until the verdict is another than
//            Conflict or the time to wait is over.
// Threads:   one.
// Lifetime:  all that it is made of outlives it.
class Reserving {
 public:
  Reserving(const Client& client, const Key& key, const std::string& fingerprint,
            const RunOptions& options);

  // To be called once.
  absl::StatusOr<ReserveOutcome> Wait();
  // Another was seen to have the key, or must have had it.
  bool held() const { return held_; }

 private:
  absl::StatusOr<ReserveOutcome> Reserve();
  // How much of the wait is left.
  absl::Duration Rest() const;
  // Whether there is time for another Reserve after that pause.
  bool MayWait(absl::Duration pause) const;

  const Client& client_;
  ClientCore& core_;
  const Key& key_;
  const RunOptions& run_;
  const absl::Time start_;

  ReserveOptions options_;
  bool held_ = false;
};

// Whether `error`, of a Reserve, says that the service couldn't be reached: not what it said
// itself, unless it is about to end, and no mistake of the caller's own.
bool OutOfReach(const ClientCore& core, const absl::Status& error);

}  // namespace onced::client
